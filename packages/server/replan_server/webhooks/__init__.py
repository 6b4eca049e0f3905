"""Webhooks: signed messages about records of runs, delivered at least once."""
