"""Prepares, drives, follows, changes and deletes runs."""
