"""A host that looks for due runs all the time, since the tests move its clock."""

import pytest

import runtime.host.host


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.host.host, "LOOK_SECONDS", 0.01)
