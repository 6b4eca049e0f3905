"""A case for tests with real processes: a home, a server that answers as told, and the command line."""

from contextlib import ExitStack

import pytest

from tests.long.crash.cli_case import Case
from tests.support.openai_server import serve


@pytest.fixture
def open_case(tmp_path, commands):
    """Return a function that opens a case for a handler of requests; its server stops with the test."""
    with ExitStack() as stack:

        def opened(handler, name="case"):
            folder = tmp_path / name
            folder.mkdir()
            return Case(folder, commands, stack.enter_context(serve(handler)))

        yield opened
