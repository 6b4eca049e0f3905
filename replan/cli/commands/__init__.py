"""What each command does: `commands/NAME.py` is the body of the command NAME."""
