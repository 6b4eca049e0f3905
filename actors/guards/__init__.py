"""Guards: total functions from an artifact and a context to a verdict. They never raise, whatever the input."""
