"""Writing to a terminal, or to a pipe in its place, and reading answers from it."""
