"""Processes: names that tell other processes whether one lives, and commands in process groups of their own."""
