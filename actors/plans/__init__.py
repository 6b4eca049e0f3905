"""Contingent plans: their values, their graph, what executing them means, and what can be proved about them."""
