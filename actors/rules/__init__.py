"""The built-in model `rules`: patterns and templates instead of a language model."""
