"""What a process starts with: shipped data, settings, kinds of agents, plug-ins and the home folder."""
