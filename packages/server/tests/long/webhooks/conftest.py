"""The fixtures of `packages/server/tests/webhooks`."""

from packages.server.tests.webhooks.conftest import *  # noqa: F403
