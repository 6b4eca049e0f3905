"""The fixtures of `tests/experiments`."""

from packages.lab.tests.experiments.conftest import *  # noqa: F403
