"""Contract suites: what every adapter of a port must do, said once and run against each."""

import pytest

# So that a failing assertion in a suite shows its values, as it does in a test module.
for suite in ("runs", "records", "inbox", "due", "budget", "kinds", "hosts"):
    pytest.register_assert_rewrite(f"tests.contracts.journal_{suite}")
