"""What if: replays recorded runs under an edited workflow, guard, policy or program, and compares the decisions."""

LIMIT_SECONDS = 10.0
"""The default time limit for replaying one run, in seconds."""
