"""Plans: their data types, their dependency graph, the meaning of their steps in an execution, and their proofs."""
