"""How many examples a search of Hypothesis tries that needs another number than usual."""

import os

from hypothesis import settings


def examples(count, **options):
    """Return the settings of a search: so many examples in `make test`, and in the soak as many as it names."""
    return settings(max_examples=int(os.environ.get("REPLAN_EXAMPLES", count)), **options)
