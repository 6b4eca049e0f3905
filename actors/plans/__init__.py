"""Contingent plans: their data types, their dependency graph, execution semantics and proofs."""
