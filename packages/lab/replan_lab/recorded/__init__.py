"""Policies played over records of what models did after a verdict."""
