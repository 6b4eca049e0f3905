"""Writes to a terminal, or to a pipe in its place, and reads answers from it."""
