"""How many examples a search of Hypothesis tries that needs another number than usual."""

import os

from hypothesis import settings


def examples(count, **options):
    """Return the settings of a search: so many examples in `make check`, and in the soak as many as it names.

    In `make test` it has fewer, by the same share as any other search.
    """
    usual = max(1, count * settings().max_examples // 50)
    return settings(max_examples=int(os.environ.get("REPLAN_EXAMPLES", usual)), **options)
