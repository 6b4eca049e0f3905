"""The distribution `replan-acquire`."""

from importlib import metadata


def test_it_has_the_version_of_the_core_that_it_needs():
    assert metadata.version("replan-acquire") == metadata.version("replan")
    assert "replan==" + metadata.version("replan") in metadata.requires("replan-acquire")
