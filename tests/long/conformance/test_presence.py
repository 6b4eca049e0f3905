"""The external cases are present, or one visible skip says that they are not."""

import os

import pytest

from tests.support.external import FOLDER


def test_the_external_cases_are_there():
    """Skipped if they are absent; with REPLAN_CONFORMANCE=1 (`make conformance`) their absence is a failure."""
    if not FOLDER.is_dir() and os.environ.get("REPLAN_CONFORMANCE") != "1":
        pytest.skip(f"external cases are not there: {FOLDER} (set REPLAN_EXTERNAL to their folder)")
    assert FOLDER.is_dir(), f"external cases are not there: {FOLDER}"
