"""Kills at the start of a run, a log that was removed, and a full disk: nothing is lost, and no call is made again."""

import os
import signal
import time

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
from tests.support.answers import Answer, by_step
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


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_no_call_is_made_again_when_the_log_is_gone(share, tmp_path, commands):
    with serve(by_step(SCRIPT)) as server:
        case = Case(tmp_path, commands, server)
        kill = {"label": "append.after", "nth": 4}
        assert case.begin(HAPPY + 3, kill=kill)[0] == -signal.SIGKILL
        (run,) = case.runs()  # Closing the journal copies the log into it.
        assert case.replan("resume", run, kill=kill)[0] == -signal.SIGKILL
        paid = case.requested()
        log = case.journal.with_name(f"{case.journal.name}-wal")
        os.truncate(log, int(log.stat().st_size * share))

        for command in (("resume", run), ("show", run), ("cancel", run), ("tell", run, "hurry")):
            code, _ = case.replan(*command)
            assert code == Exit.JOURNAL
            assert "missing, because the write-ahead log beside the journal (-wal) was removed or cut" in case.error()
        assert case.requested() == paid

        code, result = case.begin(HAPPY)
        assert (code, result["outcome"]) == (Exit.OK, "success")
        code, report = case.replan("home", "verify", "--json")
        assert code == Exit.JOURNAL
        assert [finding["run_id"] for finding in report["findings"]] == [run]


PATIENCE = 300.0


def test_a_run_on_a_full_disk_waits_for_room_and_loses_nothing(tmp_path, commands):
    """Received replies are written afterwards, so that no call is repeated or charged as unknown."""
    slow = {step: [Answer.value(SCRIPT[step][0]).slowly(0.8), *SCRIPT[step][1:]] for step in ("g_analysis", "g_recon")}
    full = tmp_path / "full"
    with serve(by_step({**SCRIPT, **slow})) as server:
        case = Case(tmp_path, commands, server)
        child = case.start(case.run_command(HAPPY), full=str(full))
        assert server.wait_for(lambda it: len(it.seen) == 2)
        full.touch()
        until = time.monotonic() + PATIENCE
        while "no room is left to write" not in (tmp_path / "err").read_text() and time.monotonic() < until:
            time.sleep(0.01)
        requests = case.requested()
        full.unlink()
        code = child.rest()
        assert (tmp_path / "err").read_text().count(
            "no room is left to write; the run goes on when there is room again"
        ) == 1
        assert len(requests) == 2, "no request is sent before it is committed"
        result = case.result()
        assert (code, result.outcome, result.calls, result.plan_json) == (Exit.OK, "success", HAPPY, plan())
        assert len(case.requested()) == HAPPY
        case.check_billing()
