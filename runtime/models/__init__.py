"""The model port and its hands: OpenAI-compatible servers, scripted files, replays of recorded runs."""
