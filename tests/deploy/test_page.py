"""The page about backups can be followed as it is rendered, on the tests' own server."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks
from tests.docs.reader import Reader
from tests.support.postgres import required

PAGE = ROOT / "docs" / "how-to" / "back-up.md"
SERVER = "db.example.com:5432"
PROGRAMS = ("pg_dump", "pg_restore", "psql")


@pytest.fixture
def empty():
    """A folder with a short path, since the name of a socket has a limit."""
    with tempfile.TemporaryDirectory(prefix="rp") as folder:
        yield Path(folder)


def test_the_page_can_be_followed_with_a_server(server, empty, tmp_path, warm):
    (tmp_path / "replan").symlink_to(warm / "replan")
    for name, program in zip(PROGRAMS, required(*PROGRAMS), strict=True):
        (tmp_path / name).symlink_to(program)
    server.execute("postgres", "DROP DATABASE IF EXISTS restored", "DROP DATABASE IF EXISTS replan")
    server.execute("postgres", "CREATE DATABASE replan")
    with Reader(empty, tmp_path) as reader:
        for block in blocks(PAGE):
            reader.follow(replace(block, body=block.body.replace(SERVER, f"127.0.0.1:{server.port}")))
