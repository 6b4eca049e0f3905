"""Tuning: races of workflows, policies and budgets, and the estimate of a belief from recorded runs."""
