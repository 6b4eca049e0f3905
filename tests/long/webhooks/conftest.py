"""The fixtures of `tests/webhooks`."""

from tests.webhooks.conftest import *  # noqa: F403
