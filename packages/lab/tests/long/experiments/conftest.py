"""The fixtures of `tests/experiments`."""

from tests.experiments.conftest import *  # noqa: F403
