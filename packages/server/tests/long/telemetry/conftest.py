"""The fixtures of `packages/server/tests/telemetry`."""

from packages.server.tests.telemetry.conftest import *  # noqa: F403
