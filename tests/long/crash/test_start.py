"""`kill -9` at the start of an admitted run and of a child run: there is no run then, or one that goes on."""

import signal

import pytest
import trio

from actors.run.ids import child_run
from replan.cli.exits import Exit
from runtime.core.clock import SystemClock
from runtime.journal.port import RunFilter
from runtime.journal.sqlite.journal import open_sqlite
from tests.long.crash.cli_case import CODEC, Case
from tests.long.crash.test_children import CHILD, PARENT, wait_for
from tests.long.crash.test_kill import HAPPY, SCRIPT
from tests.support.answers import by_step
from tests.support.artifacts import plan
from tests.support.openai_server import serve


def rows_of(case):
    """Return the status rows of all runs, the one admitted last first."""

    async def read():
        async with open_sqlite(case.journal, CODEC, SystemClock()) as journal:
            return await journal.runs(RunFilter())

    return trio.run(read) if case.journal.exists() else []


@pytest.mark.parametrize("label", ["append.before", "append.after"])
def test_a_killed_admission_leaves_nothing_or_a_run_that_a_host_drives(label, tmp_path, commands):
    with serve(by_step(SCRIPT)) as server:
        case = Case(tmp_path, commands, server)
        host = case.start(("host", "--json"), "1.")
        wait_for(tmp_path / "1.out", "ready")
        argv = (*case.run_command(HAPPY + 2)[:-1], "--detach")
        assert case.start(argv, "run.", kill={"label": label, "nth": 1}).wait() == -signal.SIGKILL
        if label == "append.after":
            wait_for(tmp_path / "1.out", "finished")
        rows = rows_of(case)
        host.send_signal(signal.SIGTERM)
        assert host.rest() == Exit.OK
    assert [row.summary.detail for row in rows] == (["success"] if label == "append.after" else [])


@pytest.mark.parametrize("nth", range(1, 6))
@pytest.mark.parametrize("label", ["claim.after", "append.before", "append.after"])
def test_a_kill_at_the_start_of_a_child_run_leaves_no_run_without_a_record(label, nth, tmp_path, commands):
    (tmp_path / "above.yaml").write_text(PARENT)
    (tmp_path / "below.yaml").write_text(CHILD)
    with serve(by_step({**SCRIPT, "c_plan": [plan()] * 9})) as server:
        case = Case(tmp_path, commands, server)
        argv = (*case.run_command(9), "-w", str(tmp_path / "above.yaml"))
        code, _ = case.replan(*argv, kill={"label": label, "nth": nth})
        rows = rows_of(case)
        assert all(row.last_seq > 0 for row in rows)
        if code == Exit.OK or not rows:
            return
        run = rows[-1].run
        code, result = case.replan("resume", run, "--json")
        assert (code, result["outcome"]) == (Exit.OK, "success")
        assert {row.run for row in rows_of(case)} == {run, child_run(run, "g_plan/v1.a1")}
