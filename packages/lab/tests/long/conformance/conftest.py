"""Without the external cases their tests are not collected."""

from tests.long.conformance.conftest import *  # noqa: F403
