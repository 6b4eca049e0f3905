"""Tuning: races of workflows, policies and budgets, and the profile of a model."""
