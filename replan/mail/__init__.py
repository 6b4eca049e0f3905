"""E-mail to people: messages made from records, and their delivery to a server, at least once."""
