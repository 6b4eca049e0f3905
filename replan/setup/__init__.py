"""The setup of a process: shipped data, settings, kinds of agents, plug-ins and the home folder."""
