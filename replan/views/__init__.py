"""Texts for people about runs, reports of `check`, and errors."""
