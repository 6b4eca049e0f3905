"""The writer commits in groups, keeps failures apart, and leaves nothing behind."""

import threading
from contextlib import closing
from functools import partial

import apsw
import pytest
import trio
import trio.testing

from runtime.core.errors import JournalError
from runtime.journal.sqlite.writer import open_writer
from runtime.journal.thread import ThreadJob


class ExplainedError(Exception):
    """What every error of SQLite becomes in these tests."""


def explain(error):
    return ExplainedError(str(error)) if isinstance(error, apsw.Error) else error


def connect(path):
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE IF NOT EXISTS numbers (number INTEGER UNIQUE)")
    return connection


@pytest.fixture
def opener(tmp_path):
    return partial(open_writer, "writer", partial(connect, tmp_path / "db"), explain, busy_seconds=5.0, group_max=100)


@pytest.fixture
def other(tmp_path):
    with closing(connect(tmp_path / "db")) as connection:
        yield connection


def insert(number, connection):
    connection.execute("INSERT INTO numbers VALUES (?)", (number,))
    return number


def numbers(connection):
    return [number for (number,) in connection.execute("SELECT number FROM numbers ORDER BY number")]


def numbers_in(path):
    with closing(apsw.Connection(str(path))) as connection:
        return numbers(connection)


def count_commits(commits, connection):
    def hook():
        commits.append("commit")
        return False

    connection.set_commit_hook(hook)


class Gate:
    """Holds up the writer's commits, so that what is handed in meanwhile becomes one group."""

    def __init__(self, writer):
        self.opened = threading.Event()
        writer._thread.post(ThreadJob(self.wait, lambda _: None))

    def wait(self, _connection):
        assert self.opened.wait(5)


async def in_one_group(writer, *jobs):
    """Run the jobs in one transaction; return each one's result or error."""
    gate, outcomes = Gate(writer), [None] * len(jobs)

    async def attempt(place, job):
        try:
            outcomes[place] = await writer.do(job)
        except Exception as error:  # noqa: BLE001 -- it is what the test looks at
            outcomes[place] = error

    async with trio.open_nursery() as nursery:
        nursery.start_soon(writer.do, nothing)
        await trio.testing.wait_all_tasks_blocked()
        for place, job in enumerate(jobs):
            nursery.start_soon(attempt, place, job)
            await trio.testing.wait_all_tasks_blocked()
        gate.opened.set()
    return outcomes


def nothing(_connection):
    """Write nothing, in a transaction of its own."""


async def test_a_job_returns_its_result_once_it_is_committed(opener, tmp_path):
    async with opener() as writer:
        assert await writer.do(partial(insert, 7)) == 7
        assert numbers_in(tmp_path / "db") == [7]


async def test_jobs_that_wait_together_share_a_commit(opener):
    commits = []

    async with opener() as writer:
        await writer.do(partial(count_commits, commits))
        commits.clear()
        assert await in_one_group(writer, *(partial(insert, number) for number in range(50))) == list(range(50))
        assert commits == ["commit"] * 2  # The one that the gate held up, and the group's.


async def test_a_group_is_bounded(tmp_path):
    commits = []
    opened = open_writer("writer", partial(connect, tmp_path / "db"), explain, busy_seconds=5.0, group_max=10)
    async with opened as writer:
        await writer.do(partial(count_commits, commits))
        commits.clear()
        await in_one_group(writer, *(partial(insert, number) for number in range(50)))
    assert commits == ["commit"] * 6  # The first is the one that the gate held up.


async def test_a_job_that_fails_spoils_only_itself(opener):
    def insert_and_raise(connection):
        insert(100, connection)
        raise ValueError("no")

    async with opener() as writer:
        jobs = [partial(insert, 1), insert_and_raise, partial(insert, 1), partial(insert, 2)]
        first, second, third, fourth = await in_one_group(writer, *jobs)
        assert (first, fourth) == (1, 2)
        assert isinstance(second, ValueError)
        assert isinstance(third, ExplainedError)
        assert isinstance(third.__cause__, apsw.ConstraintError)
        assert await writer.do(numbers) == [1, 2]


async def test_when_the_storage_fails_nothing_of_the_group_is_written(opener):
    def fill_up(connection):
        raise apsw.FullError("no room")

    async with opener() as writer:
        outcomes = await in_one_group(writer, partial(insert, 1), fill_up, partial(insert, 2))
        assert [type(outcome) for outcome in outcomes] == [ExplainedError] * 3
        assert len(set(map(id, outcomes))) == 3
        assert await writer.do(numbers) == []
        assert await writer.do(partial(insert, 3)) == 3


async def test_when_the_commit_itself_fails_nothing_of_the_group_is_written(opener):
    def refuse_once(connection):
        answers = [True]
        connection.set_commit_hook(lambda: bool(answers and answers.pop()))

    async with opener() as writer:
        outcomes = await in_one_group(writer, refuse_once, partial(insert, 1), partial(insert, 2))
        assert [type(outcome) for outcome in outcomes] == [ExplainedError] * 3
        assert await writer.do(numbers) == []
        assert await writer.do(partial(insert, 3)) == 3


async def test_an_error_that_is_not_of_sqlite_leaves_nobody_waiting(opener):
    def break_commits(connection):
        connection.set_commit_hook(lambda: {}["a hook that raises"])

    async with opener() as writer:
        for job in (break_commits, partial(insert, 1)):
            with pytest.raises(KeyError):
                await writer.do(job)
        await writer.do(lambda connection: connection.set_commit_hook(None))
        assert await writer.do(numbers) == []


async def test_a_closing_that_fails_is_told_and_leaves_nothing(tmp_path):
    class Unclosable:
        in_transaction = False

        def set_busy_timeout(self, _milliseconds):
            """Do nothing."""

        def set_wal_hook(self, _hook):
            """Do nothing."""

        def execute(self, _statement):
            """Do nothing."""

        def close(self):
            raise apsw.IOError("the disk is gone")

    before = threading.enumerate()
    with pytest.raises(ExplainedError, match="the disk is gone"):
        async with open_writer("writer", Unclosable, explain, busy_seconds=5.0, group_max=1) as writer:
            assert await writer.do(lambda _: 7) == 7
    assert threading.enumerate() == before


async def test_a_caller_that_is_cancelled_hears_of_its_job_all_the_same(opener):
    heard, scope = [], trio.CancelScope()

    async def ask():
        with scope:
            heard.append(await writer.do(partial(insert, 1)))

    async with opener() as writer, trio.open_nursery() as nursery:
        gate = Gate(writer)
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
        await trio.testing.wait_all_tasks_blocked()
        gate.opened.set()
    assert heard == [1]


async def test_a_caller_that_was_cancelled_before_hands_nothing_in(opener):
    async with opener() as writer:
        with trio.CancelScope() as scope:
            scope.cancel()
            await writer.do(partial(insert, 1))
        assert await writer.do(numbers) == []


async def test_what_was_handed_in_is_done_before_the_end(opener, tmp_path):
    async with opener() as writer:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                for number in range(200):
                    nursery.start_soon(writer.do, partial(insert, number))
                await trio.testing.wait_all_tasks_blocked(0)
                scope.cancel()
    assert numbers_in(tmp_path / "db") == list(range(200))


async def test_a_job_that_waits_right_before_the_end_is_done(opener, tmp_path):
    async def open_later(gate):
        await trio.sleep(0.02)
        gate.opened.set()

    async with trio.open_nursery() as callers, opener() as writer:
        gate = Gate(writer)
        callers.start_soon(writer.do, nothing)
        await trio.testing.wait_all_tasks_blocked()
        callers.start_soon(writer.do, partial(insert, 1))
        await trio.testing.wait_all_tasks_blocked()
        callers.start_soon(open_later, gate)
    assert numbers_in(tmp_path / "db") == [1]


async def test_after_the_end_a_job_is_refused_at_once(opener):
    async with opener() as writer:
        pass
    with pytest.raises(JournalError, match="closed"):
        await writer.do(numbers)


async def test_no_thread_is_left_whatever_happens_inside(opener):
    before = threading.enumerate()
    with pytest.raises(ZeroDivisionError):
        async with opener():
            raise ZeroDivisionError
    with trio.move_on_after(0.01):
        async with opener():
            await trio.sleep_forever()
    with trio.CancelScope() as scope:
        scope.cancel()
        async with opener():
            raise AssertionError("it was cancelled before it opened")
    assert threading.enumerate() == before


async def test_an_opening_that_fails_says_why_and_leaves_nothing():
    def refuse():
        raise apsw.CantOpenError("no such place")

    before = threading.enumerate()
    with pytest.raises(ExplainedError, match="no such place"):
        async with open_writer("writer", refuse, explain, busy_seconds=5.0, group_max=1):
            raise AssertionError("it did not open")
    assert threading.enumerate() == before


async def test_another_process_that_writes_is_waited_for_without_holding_up_this_one(opener, other):
    async with opener() as writer, trio.open_nursery() as nursery:
        other.execute("BEGIN IMMEDIATE")
        nursery.start_soon(writer.do, partial(insert, 1))
        for _ in range(10):
            await trio.sleep(0.01)
        assert numbers(other) == []
        other.execute("COMMIT")
        assert await writer.do(numbers) == [1]


async def test_another_process_that_never_ends_its_writing_is_told_of(tmp_path, other):
    opened = open_writer("writer", partial(connect, tmp_path / "db"), explain, busy_seconds=0.05, group_max=10)
    async with opened as writer:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ExplainedError):
            await writer.do(partial(insert, 1))
        other.execute("COMMIT")
        assert await writer.do(partial(insert, 2)) == 2


async def test_ctrl_c_comes_after_a_group_and_never_within_it(opener):
    async with opener() as writer:
        assert await writer.do(lambda _: trio.lowlevel.currently_ki_protected())
        assert not trio.lowlevel.currently_ki_protected()


async def test_those_who_write_in_one_pass_of_the_scheduler_share_a_commit(opener):
    commits = []
    async with opener() as writer:
        await writer.do(partial(count_commits, commits))
        commits.clear()
        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(writer.do, partial(insert, number))
        assert commits == ["commit"]
