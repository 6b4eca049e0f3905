"""Data types that all packages under `actors` share, such as artifacts, findings, answers and lines of text."""
