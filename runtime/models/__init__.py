"""The model port and its adapters: OpenAI-compatible servers, scripted files, and replays of recorded runs."""
