"""Experiments: the same problems under several pipelines and searches, measured, and shown with their uncertainty."""
