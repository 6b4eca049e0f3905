"""Tuning: finds good settings for a model by races of workflows, policies and budgets, or by measuring the model."""
