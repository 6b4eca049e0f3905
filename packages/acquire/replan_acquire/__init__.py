"""Acquisition runs: fill a typed schema by searching documents, asking people and calculating."""
