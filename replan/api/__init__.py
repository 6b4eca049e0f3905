"""The Python API. Programs import its names from `replan`."""
