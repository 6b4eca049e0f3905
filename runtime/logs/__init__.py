"""Structured logs, and the filters that every text passes on its way to a log or a terminal."""
