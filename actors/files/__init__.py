"""Reads files that people write, with errors that name the file, the key and the line."""
