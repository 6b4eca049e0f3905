"""The fixtures of `tests/wire`."""

from tests.wire.conftest import *  # noqa: F403
