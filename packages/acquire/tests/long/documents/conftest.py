"""Fixtures of the tests of documents."""

import json
import os

import pytest

from replan_acquire.documents import extract_main, extract_process


@pytest.fixture
def read_here(monkeypatch):
    """Read documents in this process. `test_formats` and `test_hostile` start the confined one."""

    def run(arguments, document):
        with os.fdopen(document, "rb", closefd=False) as file:
            content = file.read()
        written = []
        with monkeypatch.context() as patch:
            patch.setattr(extract_main, "confine", lambda **_: None)
            patch.setattr(extract_main, "_read_input", lambda: content)
            patch.setattr(extract_main, "_write", written.append)
            extract_main.main(*arguments)
        return json.dumps(written[0]).encode(), ""

    monkeypatch.setattr(extract_process, "_run_process", run)
