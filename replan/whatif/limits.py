"""The time limit of folding a recorded run; a module of its own, since the command line needs it for `--help`."""

LIMIT_SECONDS = 10.0
"""The default time limit of one run, in seconds."""
