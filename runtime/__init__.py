"""The actor runtime: machines, journals, actors, models. It knows nothing about planning."""
