"""The actor runtime: machines, journals, actors, models. This package knows nothing about planning."""
