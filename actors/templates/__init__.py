"""The models `template:NAME`: plans whose steps are shipped, filled with the title, files and demands of a text."""
