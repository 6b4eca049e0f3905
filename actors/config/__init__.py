"""Reads, checks, resolves, hashes and draws workflows."""
