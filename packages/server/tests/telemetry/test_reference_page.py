"""The reference page names every metric and every attribute."""

from pathlib import Path

import pytest

from replan_server.telemetry import conventions, metrics

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "reference" / "telemetry.md").read_text()
CONSTANTS = {
    value
    for module in (conventions, metrics)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str) and "." in value and value != conventions.OWN
}


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_a_name_is_on_the_page(name):
    assert f"`{name}`" in PAGE
