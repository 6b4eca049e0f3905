"""One fork server for all crash tests."""

from collections.abc import Iterator

import pytest

from tests.support.fork_server import ForkServer, open_fork_server


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    with open_fork_server() as server:
        yield server
