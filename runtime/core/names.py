"""The names that runs and kinds of runs may have."""

import re

RUN_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
"""The id of a run: safe as a file name, in a URL and in a request header."""

KIND = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""The name of a kind of runs."""
