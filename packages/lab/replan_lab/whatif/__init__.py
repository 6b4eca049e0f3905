"""What if: recorded runs are folded again under other rules, and each decision is compared with the recorded one."""

LIMIT_SECONDS = 10.0
"""The default time limit of one run, in seconds."""
