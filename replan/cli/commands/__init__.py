"""The body of each command: `commands/NAME.py` carries out the command NAME."""
