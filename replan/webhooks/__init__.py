"""Signed webhooks: messages made from records, their signature, and their delivery, at least once."""
