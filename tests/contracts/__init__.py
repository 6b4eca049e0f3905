"""Contract suites: tests that every adapter of a port must pass."""

import pytest

# A failing assertion in a suite then shows its values, as it does in a test module.
for suite in ("runs", "records", "inbox", "due", "budget", "kinds", "hosts"):
    pytest.register_assert_rewrite(f"tests.contracts.journal_{suite}")
pytest.register_assert_rewrite("tests.contracts.moving")
