"""Writes results and notices to a terminal or a pipe, and reads answers from a terminal."""
