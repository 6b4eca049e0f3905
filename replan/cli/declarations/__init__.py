"""What each command takes: `declarations/NAME.py` has its options and help, and imports the command when called."""
