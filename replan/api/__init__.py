"""The Python API. Its names are imported from replan."""
