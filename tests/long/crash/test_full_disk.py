"""The disk is full for a while during a run: a real process and a real server."""

import time

from replan.cli.exits import Exit
from tests.long.crash.cli_case import Case
from tests.long.crash.test_kill import HAPPY, SCRIPT
from tests.support.answers import Answer, by_step
from tests.support.artifacts import plan
from tests.support.openai_server import serve

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
        while "no room left to write" not in (tmp_path / "err").read_text() and time.monotonic() < until:
            time.sleep(0.01)
        requests = case.requested()
        full.unlink()
        code = child.rest()
        assert (tmp_path / "err").read_text().count("no room left to write; the run goes on when there is some") == 1
        assert len(requests) == 2, "no request is sent before it is committed"
        result = case.result()
        assert (code, result.outcome, result.calls, result.plan_json) == (Exit.OK, "success", HAPPY, plan())
        assert len(case.requested()) == HAPPY
        case.check_billing()
