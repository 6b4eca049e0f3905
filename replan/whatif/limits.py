"""The limits of folding recorded runs."""

LIMIT_SECONDS = 10.0
"""The time limit of one run where nobody sets another."""
READ_AT_ONCE = 64
"""Runs that are read in one snapshot of the journal."""
FEW = 100
"""Runs up to which one process is enough: starting another takes longer."""
