"""E-mail to people: makes messages from records, and delivers each to a mail server at least once."""
