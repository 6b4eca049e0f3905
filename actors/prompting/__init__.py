"""Prompts as data: read, checked, and rendered into what a model sees."""
