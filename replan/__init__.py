"""Replan: planning agents that live long."""
