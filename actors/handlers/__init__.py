"""Handlers: the functions with which the actors of a run answer the requests of its machine."""
