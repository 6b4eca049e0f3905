"""The models `template:NAME`: shipped plans that are filled with the title, the files and the demands of a text."""
