"""The code of the commands: `commands/NAME.py` carries out the command NAME."""
