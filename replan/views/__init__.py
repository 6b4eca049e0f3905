"""Runs in the form that people see: results, plans, searches, records and questions."""
