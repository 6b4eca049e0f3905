"""Workflows as data: read, checked, resolved, hashed and drawn."""
