"""Reads and checks files with prompt texts, and makes the prompts for models from these texts."""
