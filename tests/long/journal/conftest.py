"""Gives the tests of this folder the fixtures of `tests/journal`."""

from tests.journal.conftest import *  # noqa: F403
