"""What if: recorded runs are replayed under other rules, and the decisions are compared."""

LIMIT_SECONDS = 10.0
"""The default time limit of one run, in seconds."""
