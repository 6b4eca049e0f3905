"""Writes to a terminal, or to the pipe in its place, and reads answers from it."""
