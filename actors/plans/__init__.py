"""Contingent plans: their data types, their dependency graph, their execution semantics and their proofs."""
