"""The limit of the values in a configuration file."""

import pytest

from actors.files import yaml_document
from actors.files.yaml_document import parse_document
from runtime.core.errors import UsageProblem


def test_values_are_counted_while_they_are_composed(monkeypatch):
    """A megabyte of values took many seconds before it was refused."""
    monkeypatch.setattr(yaml_document, "_Builder", None)
    monkeypatch.setattr(yaml_document, "NODES_MAX", 50)
    with pytest.raises(UsageProblem, match="more than 50 values"):
        parse_document("a: [" + "1," * 100 + "1]", "config.yaml")
