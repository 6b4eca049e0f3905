"""E-mail to people: makes messages from records, and delivers each to an SMTP server at least once."""
