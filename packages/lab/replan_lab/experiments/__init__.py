"""Experiments: several workflows and searches are tried on the same problems, and a report compares their results."""
