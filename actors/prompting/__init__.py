"""Reads and checks prompts files, and renders prompts for models."""
