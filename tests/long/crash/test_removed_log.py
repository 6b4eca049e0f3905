"""A run whose write-ahead log is removed or cut is not driven on, and no call is made again; other runs go on."""

import os
import signal

import pytest

from replan.cli.exits import Exit
from tests.long.crash.cli_case import Case
from tests.long.crash.test_kill import HAPPY, SCRIPT
from tests.support.answers import by_step
from tests.support.openai_server import serve


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
            assert "missing: the write-ahead log beside the journal (-wal) was removed or cut" in case.error()
        assert case.requested() == paid

        code, result = case.begin(HAPPY)
        assert (code, result["outcome"]) == (Exit.OK, "success")
        code, report = case.replan("home", "verify", "--json")
        assert code == Exit.JOURNAL
        assert [finding["run_id"] for finding in report["findings"]] == [run]
