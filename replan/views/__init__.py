"""Runs as people see them: results, plans, searches, records and questions."""
