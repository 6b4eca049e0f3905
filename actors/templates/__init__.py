"""The models `template:NAME`: shipped plans, filled with the title, the files and the demands of the user's texts."""
