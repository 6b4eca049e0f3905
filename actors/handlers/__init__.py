"""Handlers: how the actors of a run fulfil the requests of its machine."""
