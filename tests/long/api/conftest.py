"""Gives the tests of this folder the fixtures of `tests/api`."""

from tests.api.conftest import *  # noqa: F403
