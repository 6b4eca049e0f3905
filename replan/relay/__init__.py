"""Sending what a journal records to somebody outside, at least once."""
