"""The model port and its adapters: clients of model servers, scripted files, and replays of recorded runs."""
