"""Processes: names by which others can tell whether one lives, and commands in process groups of their own."""
