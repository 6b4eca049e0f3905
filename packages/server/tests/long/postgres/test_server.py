"""What only a journal on a server does: its clock, settings, tables, roles, budget, notices and messages."""

import logging
import math
import time

import psycopg
import pytest
import trio

from packages.server.tests.long.postgres.checker import check_database
from packages.server.tests.support.postgres import PASSWORD
from replan_server.postgres import connecting, schema
from replan_server.postgres.address import parse_address
from replan_server.postgres.connecting import StatementBatch, explain
from replan_server.postgres.journal import open_postgres
from replan_server.postgres.transaction import Listening, begin_batch
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import (
    Held,
    HomeBudgetSpent,
    JournalDamaged,
    JournalUnreachable,
    JournalUnreadable,
    SequenceConflict,
    StorageFull,
    UsageProblem,
)
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.port import Deleted, Fact, RunFilter
from tests.contracts.toy_events import CODEC, RUNNING, Noted, counted, driven


@pytest.fixture
def opened(address):
    return lambda **options: open_postgres(address, CODEC, **options)


@pytest.fixture
def connection(address):
    connection = connecting.connect(address)
    yield connection
    connection.close()


# The clock.


async def test_leases_and_times_go_by_the_servers_clock_whatever_this_machines_says(opened, monkeypatch):
    async with opened() as journal:
        real = time.time()
        monkeypatch.setattr(time, "time", lambda: real + 3 * 86_400.0)
        assert abs(journal.now() - real) < 5.0
        await driven(journal, "a", ttl=1.0)
        assert abs((await journal.row("a")).created - real) < 5.0
        with pytest.raises(Held) as caught:
            await journal.claim("a", "another", 1.0)
        assert abs(caught.value.until - real) < 5.0
        await trio.sleep(1.05)
        assert (await journal.row("a")).owner is None
        assert await journal.claim("a", "another", 1.0) == 2


# Transactions.


def test_every_transaction_has_its_limits_and_is_durable(connection):
    connection.execute("SET synchronous_commit = off")
    begin_batch(connection).run()
    names = ("lock_timeout", "idle_in_transaction_session_timeout", "synchronous_commit", "transaction_isolation")
    found = [connection.execute(f"SHOW {name}").fetchone()[0] for name in names]
    assert found == ["2s", "2s", "on", "read committed"]
    connection.execute("ROLLBACK")
    assert connection.execute("SHOW lock_timeout").fetchone()[0] == "0"
    assert connection.prepare_threshold is None
    told = connection.info.get_parameters()
    assert (told["tcp_user_timeout"], told["keepalives"]) == ("5000", "1")


def test_a_transaction_that_its_client_forgets_is_ended_by_the_server(connection):
    begin_batch(connection).run()
    time.sleep(2.3)
    with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
        connection.execute("SELECT 1")


async def test_a_job_that_is_refused_leaves_nothing_of_it_beside_others_of_its_group(opened, url):
    async with opened() as journal:
        epochs = {run: await driven(journal, run) for run in "abc"}
        refused = list[str]()

        async def append(run, after):
            facts = [Fact(Noted(text=f"text of {run}"))]
            try:
                await journal.append(run, after=after, epoch=epochs[run], facts=facts, summary=RUNNING)
            except SequenceConflict:
                refused.append(run)

        async with trio.open_nursery() as nursery:
            for run, after in (("a", 0), ("b", 7), ("c", 0)):
                nursery.start_soon(append, run, after)
        assert refused == ["b"]
        assert [len(await journal.read(run)) for run in "abc"] == [1, 0, 1]
    check_database(url)


async def test_a_job_that_the_database_refuses_fails_alone(opened, url):
    async with opened() as journal:
        epochs = {run: await driven(journal, run) for run in "ab"}
        failed = list[str]()

        async def append(run, summary):
            try:
                await journal.append(run, after=0, epoch=epochs[run], facts=counted(1), summary=summary)
            except Exception as error:  # noqa: BLE001 -- whatever it is
                failed.append(f"{run}: {error}")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(append, "a", Summary("running", committed=Amount(calls=2**70)))
            nursery.start_soon(append, "b", RUNNING)
        assert [line.partition(":")[0] for line in failed] == ["a"]
        assert len(await journal.read("b")) == 1
    check_database(url)


@pytest.mark.parametrize("text", ["nul \0 inside", "\0"])
async def test_a_nul_is_kept_in_messages_and_refused_in_one_line_in_names(opened, text):
    async with opened() as journal:
        await journal.create("a", text)
        await journal.post("a", text, text)
        ((item,),) = [await journal.inbox("a")]
        assert (item.key, item.body) == (text, text)
        assert "\0" not in (await journal.row("a")).title
        with pytest.raises(UsageProblem, match="NUL"):
            await journal.claim("a", text, 1.0)


async def test_a_text_is_kept_while_a_run_names_it_and_the_database_refuses_to_lose_it(opened, server):
    async with opened() as journal:
        for run in "ab":
            facts = [Fact(Noted(text="shared"))]
            await journal.create(run, "", facts=facts)
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            server.execute("journal", "DELETE FROM replan.texts")
        assert await journal.delete({"a": 1}) == Deleted(1, 0, 0)
        assert await journal.delete({"b": 1}) == Deleted(1, 1, 6)


# The daily budget.


async def test_processes_that_spend_at_once_never_exceed_the_daily_budget(address, url):
    """Two openings with groups of their own; together they want twice what the day allows."""
    budget, spent = HomeBudget(calls=40), list[int]()

    async def spend(journal, run):
        epoch = await driven(journal, run)
        for number in range(10):
            summary = Summary("running", committed=Amount(calls=number + 1))
            try:
                await journal.append(run, after=number, epoch=epoch, facts=counted(number), summary=summary)
            except HomeBudgetSpent:
                return
            spent.append(1)

    async with open_postgres(address, CODEC, budget=budget) as one, open_postgres(address, CODEC, budget=budget) as two:
        async with trio.open_nursery() as nursery:
            for number in range(8):
                nursery.start_soon(spend, (one, two)[number % 2], f"run-{number}")
        assert len(spent) == 40
        assert (await one.spent_today()).calls == 40
    check_database(url)


# Tables and roles.


async def test_several_that_open_an_empty_database_at_once_all_get_it(new_database):
    opened = list[str]()

    async def use(run):
        async with open_postgres(new_database, CODEC) as journal:
            await journal.create(run, "")
            opened.append(run)

    async with trio.open_nursery() as nursery:
        for run in "abc":
            nursery.start_soon(use, run)
    assert sorted(opened) == list("abc")


async def test_roles_may_do_what_they_are_for_and_nothing_else(new_database, server):
    for role in ("journal_app", "journal_archive", "journal_reader"):
        server.execute("empty", f"DROP ROLE IF EXISTS {role}", f"CREATE ROLE {role} LOGIN")
    app, archive, reader = (
        parse_address(server.url("empty", user=f"journal_{kind}")) for kind in ("app", "archive", "reader")
    )
    with pytest.raises(JournalUnreadable, match="may not make"):
        async with open_postgres(app, CODEC):
            raise AssertionError("it opened")
    owner = connecting.connect(new_database)
    schema.ensure_tables(owner, "tests")
    schema.grant(owner, {"app": "journal_app", "archive": "journal_archive", "reader": "journal_reader"})
    owner.close()
    async with open_postgres(app, CODEC) as journal:
        await journal.create("a", "", facts=[Fact(Noted(text="text"))], owner="driver", ttl=60.0)
        await journal.post("a", "key", "body")
        await journal.append("a", after=1, epoch=1, facts=counted(2), summary=Summary("running", committed=Amount(1)))
        await journal.release("a", 1)
        await journal.announce("one", "process 1", 30.0)
        await journal.depart("one")
        with pytest.raises(JournalUnreadable):
            await journal.delete({"a": 2})
    for statement in ("UPDATE replan.records SET seq = 9", "DELETE FROM replan.records", "TRUNCATE replan.records"):
        with psycopg.connect(app.conninfo) as raw, pytest.raises(psycopg.errors.InsufficientPrivilege):
            raw.execute(statement)
    async with open_postgres(reader, CODEC) as journal:
        assert len(await journal.read("a")) == 2
        with pytest.raises(JournalUnreadable):
            await journal.post("a", "other", "body")
    async with open_postgres(archive, CODEC) as journal:
        assert (await journal.delete({"a": 2})).runs == 1
    server.execute("empty", *(f"DROP OWNED BY journal_{kind}" for kind in ("app", "archive", "reader")))


# Notices.


async def test_hosts_are_woken_for_posts_and_for_runs_that_are_due_or_finished_and_not_for_steps(opened, address):
    async with opened() as journal, trio.open_nursery() as nursery:
        send, receive = trio.open_memory_channel[int](100)
        await nursery.start(Listening(address).listen, lambda: send.send_nowait(1))
        await receive.receive()  # It listens.

        async def wakes(call):
            await call
            with trio.move_on_after(0.3) as limit:
                await receive.receive()
            return not limit.cancelled_caught

        assert await wakes(journal.create("a", "", facts=counted(1)))
        assert not await wakes(journal.claim("a", "driver", 60.0))
        assert not await wakes(journal.append("a", after=1, epoch=2, facts=counted(2), summary=RUNNING))
        assert await wakes(journal.post("a", "key", "body"))
        assert not await wakes(journal.renew("a", 2, 60.0))
        assert await wakes(journal.append("a", after=2, epoch=2, facts=counted(3), summary=Summary("finished")))
        nursery.cancel_scope.cancel()


async def test_a_host_that_cannot_listen_goes_on_polling(server, caplog):
    address = parse_address(f"postgresql://replan:{PASSWORD.replace('/', '%2F')}@127.0.0.1:1/journal")
    with caplog.at_level(logging.WARNING), trio.move_on_after(0.3) as scope:
        await Listening(address).listen(lambda: None)
    assert scope.cancelled_caught


# Messages.


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hidden/word@server/db",
        "postgresql://user:hidden@word@server/db",
        "postgresql://user:hid:den@server:port/db",
        "postgresql://user:hidden word@server/db",
        "postgresql://user:%hidden@server/db",
        "postgresql://user:hidden#word@server/db",
        "postgresql://user:hidden?word@server/db",
        "postgresql://user@server/db?password=hidden&nonsense=1",
    ],
)
def test_a_mistyped_url_is_refused_without_any_part_of_the_password(url):
    try:
        address = parse_address(url, "REPLAN_JOURNAL")
    except UsageProblem as problem:
        shown = str(problem)
    else:
        shown = f"{address.place} {address} {address!r} {address.message_line(f'cannot reach {address.conninfo}')}"
    assert not any(part in shown for part in ("hidden", "word@", "den@", "hid:"))
    assert len(shown.splitlines()) == 1


async def test_a_server_that_is_not_there_is_told_in_one_line_without_the_password(server):
    address = parse_address(server.url("journal", port=1))
    with pytest.raises(JournalUnreachable) as caught:
        async with open_postgres(address, CODEC):
            raise AssertionError("it opened")
    assert len(str(caught.value).splitlines()) == 1
    assert PASSWORD not in str(caught.value)
    assert address.place == "postgresql://127.0.0.1:1/journal"


@pytest.mark.parametrize(
    ("state", "meaning"), [("53100", StorageFull), ("42501", JournalUnreadable), ("57P01", JournalUnreachable)]
)
def test_an_error_of_the_database_has_its_meaning(address, state, meaning):
    error = psycopg.errors.lookup(state)(f"something with {PASSWORD} in it")
    explained = explain(address, error)
    assert isinstance(explained, meaning)
    assert PASSWORD not in str(explained)


async def test_runs_are_listed_while_a_page_of_them_is_asked_for(opened):
    async with opened() as journal:
        for number in range(5):
            await journal.create(f"run-{number}", "")
        assert [row.run for row in await journal.runs(RunFilter(limit=2))] == ["run-4", "run-3"]


async def test_a_damaged_run_fails_no_change_of_another_run_that_shares_its_group(opened, server):
    async with opened() as journal:
        for run in ("a", "b", "c"):
            await journal.create(run, "", facts=counted(1))
        server.execute("journal", "UPDATE replan.runs SET last_hash = '' WHERE run = 'a'")
        failed = []

        async def post(run):
            try:
                await journal.post(run, "key", "body")
            except JournalDamaged as error:
                failed.append((run, str(error)))

        async with trio.open_nursery() as nursery:
            for run in ("a", "b", "c"):
                nursery.start_soon(post, run)
        assert [run for run, _ in failed] == ["a"]
        assert [item.key for run in ("b", "c") for item in await journal.inbox(run)] == ["key", "key"]


async def test_a_connection_that_the_server_ended_for_being_idle_fails_no_change_and_no_read(opened, server):
    server.execute("journal", "ALTER DATABASE journal SET idle_session_timeout = '1s'")
    try:
        async with opened() as journal:
            await trio.sleep(1.5)
            await journal.create("a", "", facts=counted(1))
            await trio.sleep(1.5)
            assert (await journal.row("a")).last_seq == 1
    finally:
        server.execute("journal", "ALTER DATABASE journal RESET idle_session_timeout")


ROWS = [
    (1, 2.5, True, b"bytes", "text"),
    (-(2**63), -0.0, False, b"", ""),
    (2**63 - 1, 1e-300, None, bytes(range(256)), '"quoted" \\ {braces}, NULL, null'),
    (None, None, True, None, None),
    (0, 0.1 + 0.2, False, b"\\x00", "é\n\u2028\U0001f600"),
    (7, math.inf, True, b'"', "NULL"),
]


def test_rows_of_all_types_come_back_as_they_were(server):
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        batch = StatementBatch(connection)
        types = ("bigint", "float8", "boolean", "bytea", "text")
        answer = batch.add_for("SELECT * FROM {rows}", ROWS, types)
        numbers = batch.add_for("SELECT * FROM {rows}", [(1,), (None,), (-2,)], ("integer",))
        batch.run()
    assert [tuple(row) for row in answer.rows] == ROWS
    assert [math.copysign(1, row[1]) for row in answer.rows if row[1] == 0] == [-1.0]
    assert [number for (number,) in numbers.rows] == [1, None, -2]


def test_a_number_that_is_too_large_is_refused(server):
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        batch = StatementBatch(connection)
        batch.add_for("SELECT * FROM {rows}", [(2**63,)], ("bigint",))
        with pytest.raises(psycopg.errors.NumericValueOutOfRange):
            batch.run()
