"""Gives the tests of this folder the fixtures of `tests/models`."""

from tests.models.conftest import *  # noqa: F403
