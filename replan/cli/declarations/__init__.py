"""The declaration of each command: `declarations/NAME.py` has options and help, and imports the command when called."""
