"""Errors of the journal's threads hold nothing that their caller has open, without help of the garbage collector.

A process that drives runs collects rarely, and excludes what exists at its start.
"""

import gc
import weakref
from contextlib import closing
from functools import partial

import apsw
import pytest

from runtime.journal.sqlite.writer import open_writer
from runtime.journal.thread import open_thread
from tests.journal.test_writer import ExplainedError, connect, explain


class Resource:
    """What the caller of a job holds: a connection, a file."""


def fail_as_code(_connection):
    raise ValueError("no")


def break_a_constraint(connection):
    connection.execute("INSERT INTO numbers VALUES (1), (1)")


def fill_the_disk(_connection):
    raise apsw.FullError("no room")


def refuse_the_commit(connection):
    connection.set_commit_hook(lambda: True)


@pytest.fixture
def no_collections():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("job", [fail_as_code, break_a_constraint, fill_the_disk, refuse_the_commit])
async def test_the_error_of_a_job_keeps_nothing_of_its_caller(tmp_path, job):
    held = []

    async def call(writer):
        resource = Resource()
        held.append(weakref.ref(resource))
        await writer.do(job)

    opened = open_writer("writer", partial(connect, tmp_path / "db"), explain, busy_seconds=5.0, group_max=10)
    async with opened as writer:
        with pytest.raises((ValueError, ExplainedError)):
            await call(writer)
        assert held[0]() is None


@pytest.mark.usefixtures("no_collections")
async def test_the_error_of_another_process_that_writes_keeps_nothing_of_its_caller(tmp_path):
    held = []

    async def call(writer):
        resource = Resource()
        held.append(weakref.ref(resource))
        await writer.do(lambda _: None)

    opened = open_writer("writer", partial(connect, tmp_path / "db"), explain, busy_seconds=0.05, group_max=10)
    async with opened as writer:
        with closing(connect(tmp_path / "db")) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ExplainedError):
                await call(writer)
        assert held[0]() is None


@pytest.mark.usefixtures("no_collections")
async def test_the_error_of_a_job_of_a_thread_keeps_nothing_of_its_caller(tmp_path):
    held = []

    async def call(thread):
        resource = Resource()
        held.append(weakref.ref(resource))
        await thread.do(fill_the_disk)

    async with open_thread("reader", partial(connect, tmp_path / "db"), explain) as thread:
        with pytest.raises(ExplainedError):
            await call(thread)
        assert held[0]() is None


@pytest.mark.usefixtures("no_collections")
async def test_the_error_of_an_opening_keeps_nothing_of_its_caller(tmp_path):
    held = []

    async def call():
        resource = Resource()
        held.append(weakref.ref(resource))
        async with open_thread("reader", partial(connect, tmp_path / "missing" / "db"), explain):
            raise AssertionError("it did not open")

    with pytest.raises(ExplainedError):
        await call()
    assert held[0]() is None
