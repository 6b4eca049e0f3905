"""The guards: total functions from an artifact and a context to a verdict. They never raise on any input."""
