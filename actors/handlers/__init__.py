"""Handlers: what the actors of a run do with the requests of its machine."""
