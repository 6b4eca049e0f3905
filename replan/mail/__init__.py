"""E-mail to people: messages made from records, and their delivery to a mail server, at least once."""
