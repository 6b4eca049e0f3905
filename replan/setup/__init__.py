"""What a process starts with: shipped data, settings, plug-ins, the home folder."""
