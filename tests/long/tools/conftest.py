"""Gives the tests of this folder the fixtures of `tests/tools`."""

from tests.tools.conftest import *  # noqa: F403
