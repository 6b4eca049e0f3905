"""Copying runs between journals: all of a run, once, and nobody drives it in the source any more."""

import json
from contextlib import closing
from urllib.parse import unquote

import apsw
import pytest
import trio
from click.testing import CliRunner

from packages.server.tests.long.postgres.checker import check_database
from packages.server.tests.support.postgres import PASSWORD
from replan.cli.app import app
from replan_server.postgres.address import parse_address
from runtime.core.clock import SystemClock
from runtime.core.daily_budget import DAY_SECONDS
from runtime.core.errors import Fenced, RunMoved
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.copying import copy_runs
from runtime.journal.port import VERSION, Fact, RunFilter, nobody
from runtime.open_journal import open_journal
from runtime.open_offline import open_inspection, open_raw, shown_url
from tests.cli.samples import ANALYSIS, ASKING, PLAN, PROBLEM, write_script
from tests.contracts.toy_events import CODEC, RUNNING, Counted, Noted, counted, driven


@pytest.fixture
def file(tmp_path):
    return f"sqlite:{tmp_path / 'home' / 'journal.sqlite3'}"


def opened(url):
    return open_journal(url, CODEC, SystemClock())


async def filled(url):
    """Make runs of all sorts; return what the journal shows of them."""
    async with opened(url) as journal:
        epoch = await driven(journal, "a")
        await journal.post("a", "key", "body with \0")
        await journal.post("a", "other", "unread")
        facts = [Fact(Noted(text="a text"), inbox=1), Fact(Noted(text="shared")), *counted(3)]
        spent = Summary("running", committed=Amount(3, 30, 300))
        await journal.append("a", after=0, epoch=epoch, facts=facts, summary=spent)
        await journal.append("a", after=3, epoch=epoch, facts=counted(4), summary=spent)
        await journal.release("a", epoch)
        waits = Summary("waiting", "q1", waiting_since=5.0, next_wake=9e9)
        await journal.create("b", "waits", facts=[Fact(Noted(text="shared"))], summary=waits)
        await journal.create("c", "ended", facts=counted(1), summary=Summary("finished", "success"))
        await journal.create("held", "driven", facts=counted(1), owner="driver", ttl=600.0)
        await journal.create("empty", "no record")
        return await shown(journal)


async def shown(journal):
    """Return the rows of the runs a, b and c without their epochs, their records and their messages."""
    runs = [row for row in reversed(await journal.runs(RunFilter())) if row.run in "abc"]
    rows = [(row.run, row.title, row.created, row.updated, row.summary, row.unread, row.kind) for row in runs]
    return rows, [await journal.read(row.run) for row in runs], [await journal.inbox(row.run) for row in runs]


def copied(source, target):
    with open_raw(source) as runs, open_raw(target, make=True) as kept:
        return list(copy_runs(runs, kept, (shown_url(source), shown_url(target)), nobody))


@pytest.mark.parametrize("outwards", [True, False])
async def test_all_of_a_run_is_copied_and_nobody_drives_it_in_the_source(file, url, outwards):
    source, target = (file, url) if outwards else (url, file)
    before = await filled(source)
    done = copied(source, target)
    assert [(each.run, each.new) for each in done] == [("a", True), ("b", True), ("c", True), ("held", False)]
    assert "is driven by driver" in done[-1].problem
    async with opened(target) as journal:
        assert await shown(journal) == before
        assert await journal.spent_today() == Amount(calls=3, micro_usd=300)
        assert (await journal.due(10)).runs == ("a",)
        epoch = await journal.claim("a", "another", 60.0)
        await journal.append("a", after=4, epoch=epoch, facts=[Fact(Counted(number=5), inbox=2)], summary=RUNNING)
        assert (await journal.post("a", "key", "body with \0")).result == "duplicate"
    async with opened(source) as journal:
        assert await shown(journal) == before
        assert (await journal.due(10)).runs == ()
        for call in (
            journal.claim("a", "driver", 60.0),
            journal.post("a", "new", "body"),
            journal.delete({"a": 4}),
        ):
            with pytest.raises(RunMoved) as caught:
                await call
            assert caught.value.place == shown_url(target)
        with pytest.raises(Fenced):  # Its lease had ended, and nobody had taken it over.
            await journal.append("a", after=4, epoch=1, facts=counted(5), summary=RUNNING)
    check_database(url)


async def test_copying_again_changes_nothing_and_copies_what_was_driven_then(file, url):
    await filled(file)
    copied(file, url)
    async with opened(url) as journal:
        epoch = await journal.claim("a", "another", 60.0)
        spent = Summary("running", committed=Amount(3, 30, 300))
        await journal.append("a", after=4, epoch=epoch, facts=counted(5), summary=spent)
    async with opened(file) as journal:
        await journal.release("held", 1)
    assert [(each.run, each.new, each.problem) for each in copied(file, url)] == [
        ("a", False, ""),
        ("b", False, ""),
        ("c", False, ""),
        ("held", True, ""),
    ]
    async with opened(url) as journal:
        assert len(await journal.read("a")) == 5
        assert await journal.spent_today() == Amount(calls=3, micro_usd=300)
    check_database(url)


@pytest.mark.parametrize("outwards", [True, False])
async def test_a_run_that_cannot_be_added_is_still_driven_in_the_source(file, url, outwards):
    source, target = (file, url) if outwards else (url, file)
    await filled(source)
    async with opened(target) as journal:
        await journal.create("a", "another", facts=counted(9))
    assert "already has another run" in copied(source, target)[0].problem
    async with opened(source) as journal:
        assert await journal.claim("a", "driver", 60.0) > 1
        with pytest.raises(RunMoved):
            await journal.claim("b", "driver", 60.0)


async def test_a_run_that_was_moved_elsewhere_is_not_copied_from_here(file, url, tmp_path):
    await filled(file)
    copied(file, url)
    done = copied(file, f"sqlite:{tmp_path / 'other' / 'journal.sqlite3'}")
    assert done[0].problem == f"run 'a' was moved to {parse_address(url).place}; continue the run there"


def test_the_commands_copy_verify_and_upgrade(file, url, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    problem = tmp_path / "problem.md"
    problem.write_text(PROBLEM, encoding="utf-8")

    def call(*words, code=0):
        done = CliRunner().invoke(app, [*map(str, words)])
        assert done.exit_code == code, f"{words}: {done.stdout}{done.stderr}"
        assert PASSWORD not in unquote(done.stdout + done.stderr)
        return done

    run = json.loads(call("run", problem, "-m", "template:bug", "--json").stdout)["run_id"]
    assert "everything agrees with the records" in call("home", "verify").stdout
    assert call("home", "copy", file, url).stdout.split() == [run]
    assert json.loads(call("home", "copy", file, url, "--json").stdout)["runs"] == [
        {"run_id": run, "new": False, "deleted": False, "problem": None}
    ]
    for words in (("runs", "--json"), ("show", run, "--json")):
        shown = json.loads(call(*words).stdout)
        assert shown.get("runs", [shown])[0]["status"] == "moved"
    assert f"{run:<8}  moved" in call("runs").stdout
    assert "continue the run there" in call("show", run).stderr
    assert "continue the run there" in call("resume", run, code=8).stderr
    assert json.loads(call("home", "verify", url, "--json").stdout)["findings"] == []
    assert "everything agrees with the records" in call("home", "verify", file).stdout
    assert f"version {VERSION}" in call("home", "upgrade", url).stderr
    assert f"version {VERSION}" in call("home", "upgrade").stderr
    assert "CREATE ROLE" in call("home", "upgrade", url, "--app", "nobody_has_it", code=2).stderr
    call("home", "copy", file, file, code=2)
    call("home", "copy", f"sqlite:{tmp_path / 'missing' / 'journal'}", url, code=2)
    call("home", "verify", "mysql://user:password@server/db", code=2)
    monkeypatch.setenv("REPLAN_JOURNAL", url)
    assert "everything agrees with the records" in call("home", "verify").stdout
    assert json.loads(call("show", run, "--json").stdout)["run_id"] == run


def test_what_a_run_has_spent_on_each_day_moves_with_it(file, url, tmp_path, monkeypatch):
    """Through a database, from a file to another one: the totals of both days, of all runs and of the tenant."""
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    problem = tmp_path / "problem.md"
    problem.write_text(PROBLEM, encoding="utf-8")
    script = write_script(tmp_path, {"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})

    def call(*words, code=0):
        done = CliRunner().invoke(app, [*map(str, words)])
        assert done.exit_code == code, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    options = "-m", script, "-w", "option_a", "--tenant", "research", "--no-input", "--json"
    run = json.loads(call("run", problem, *options, code=6))["run_id"]
    now = SystemClock.now
    monkeypatch.setattr(SystemClock, "now", lambda clock: now(clock) + DAY_SECONDS)
    call("answer", f"{run}/q1", "Version 3.12")
    call("resume", run, "-m", script, "--no-input")

    def totals(journal):
        with open_inspection(journal) as inspection:
            return inspection.reader.spending()

    spent = totals(file)
    assert sorted(tenant for tenant, _ in spent) == ["", "", "research", "research"]
    assert all(amount.calls > 0 for amount in spent.values())
    other = f"sqlite:{tmp_path / 'other' / 'journal.sqlite3'}"
    for source, target in ((file, url), (url, other)):
        call("home", "copy", source, target)
        call("home", "copy", source, target)
        assert totals(target) == totals(source) == spent
        for journal in (source, target):
            assert "everything agrees with the records" in call("home", "verify", journal)


def test_verification_notices_what_was_changed_in_the_database(url, server, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REPLAN_JOURNAL", url)
    problem = tmp_path / "problem.md"
    problem.write_text(PROBLEM, encoding="utf-8")
    assert CliRunner().invoke(app, ["run", str(problem), "-m", "template:bug"]).exit_code == 0
    for statement, cause in (
        ("UPDATE replan.runs SET calls = calls + 1", "the committed amounts and days in its row"),
        ("UPDATE replan.runs SET detail = 'all_pruned'", "its detail: stored as 'all_pruned'"),
        ("UPDATE replan.records SET at = at + 1 WHERE seq = 3", "record 3: the record does not match its hash"),
        ("UPDATE replan.texts SET text = 'x'", "does not match its hash"),
        ("UPDATE replan.spending SET calls = 0", "but the records give"),
    ):
        with server.changed("journal", statement):
            done = CliRunner().invoke(app, ["home", "verify"])
        assert done.exit_code == 9
        assert cause in done.stdout
    assert CliRunner().invoke(app, ["home", "verify"]).exit_code == 0


def test_a_file_that_is_copied_from_is_not_changed_but_for_the_marks(file, url):
    """The tables of the source keep every record and message."""
    trio.run(filled, file)

    def content():
        with closing(apsw.Connection(file.removeprefix("sqlite:"))) as connection:
            return [connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("events", "inbox", "texts")]

    before = content()
    copied(file, url)
    assert content() == before
