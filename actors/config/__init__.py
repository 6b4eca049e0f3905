"""Workflow files: reading and checking them, finding the files that they name, and drawing them."""
