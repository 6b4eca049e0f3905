"""The fixtures of `tests/telemetry`."""

from tests.telemetry.conftest import *  # noqa: F403
