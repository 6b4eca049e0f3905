"""The Python API. Programs import the names of the API from `replan`."""
