"""The page about workers can be followed as it is rendered, on the tests' own server."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks
from tests.docs.reader import Reader

PAGE = ROOT / "docs" / "how-to" / "run-workers.md"
SERVER = "db.example.com:5432"


@pytest.fixture
def empty():
    """A folder with a short path, since the name of a socket has a limit."""
    with tempfile.TemporaryDirectory(prefix="rp") as folder:
        yield Path(folder)


def test_the_page_can_be_followed_with_a_server(server, empty, warm):
    server.execute("postgres", "DROP DATABASE IF EXISTS replan", "CREATE DATABASE replan")
    with Reader(empty, warm) as reader:
        for block in blocks(PAGE):
            reader.follow(replace(block, body=block.body.replace(SERVER, f"127.0.0.1:{server.port}")))
