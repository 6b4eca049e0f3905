"""Experiments: trials of the same problems with several workflows and searches, and a report of their results."""
