"""Sets up a process: finds the shipped data, the home folder, the settings, the kinds of agents and the plug-ins."""
