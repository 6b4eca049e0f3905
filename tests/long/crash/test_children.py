"""A parent and its child run under hosts: one host is killed, and the next resumes both."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from actors.run.ids import child_run
from replan.cli.exits import Exit
from tests.long.crash.cli_case import Case
from tests.long.crash.test_kill import SCRIPT, called, produced
from tests.support.answers import by_step
from tests.support.artifacts import plan
from tests.support.openai_server import serve

PARENT = """
name: above
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid}
  g_plan: {generator: "workflow:./below.yaml", guard: plan_medium, requires: [g_analysis], child_calls: 3}
"""
CHILD = """
name: below
action_pairs:
  g_strategy: {generator: model, guard: strategy_valid}
  c_plan: {generator: model, guard: plan_medium, requires: [g_strategy]}
"""
CALLS = 3
"""One call of the parent, two of the child; a kill may waste one more."""
PLACES = [("append.after", 5), ("reply.after", 3), ("finish.after", 1)]
"""In the child: between two records, with a reply received, and at its end, before the parent has its result."""
if "REPLAN_HOSTS" in os.environ:
    PLACES += [("append.after", nth) for nth in (3, 4, 6, 7, 8, 9)] + [("reply.after", 2)]
PATIENCE = 300.0


@pytest.mark.parametrize(("label", "nth"), PLACES)
def test_a_parent_and_its_child_go_on_under_another_host(label, nth, tmp_path, commands):
    """Both end; no host takes up the child by itself; no recorded reply is requested again."""
    (tmp_path / "above.yaml").write_text(PARENT)
    (tmp_path / "below.yaml").write_text(CHILD)
    with serve(by_step({**SCRIPT, "c_plan": [plan()] * 9})) as server:
        case = Case(tmp_path, commands, server)
        first = case.start(("host", "--json"), "1.", kill={"label": label, "nth": nth})
        wait_for(tmp_path / "1.out", "ready")
        case.start((*case.run_command(9)[:-1], "-w", str(tmp_path / "above.yaml"), "--detach"), "run.").wait()
        run = (tmp_path / "run.out").read_text().strip()
        assert first.rest() == -signal.SIGKILL
        paid = {call for _, records in case.runs().values() for call in produced([record.event for record in records])}
        sent = len(case.requested())
        second = case.start(("host", "--json"), "2.")
        try:
            wait_for(tmp_path / "2.out", "finished")
        finally:
            second.send_signal(signal.SIGTERM)
            code = second.rest()
        results = {name: result for name, (result, _) in case.runs().items()}
        requests = case.requested()
    assert code == Exit.OK
    child = child_run(run, "g_plan/v1.a1")
    assert {name: result.outcome for name, result in results.items()} == {run: "success", child: "success"}
    assert results[run].plan_json == plan()
    assert not paid & {called(request) for request in requests[sent:]}, "a recorded reply was requested again"
    assert CALLS <= len(set(requests)) == len(requests) <= results[run].calls <= CALLS + 1
    notices = [json.loads(line) for name in "12" for line in (tmp_path / f"{name}.out").read_text().splitlines()]
    assert {line["run_id"] for line in notices if "run_id" in line} == {run}


def wait_for(output: Path, event: str) -> None:
    until = time.monotonic() + PATIENCE
    while not output.exists() or f'"event": "{event}"' not in output.read_text():
        assert time.monotonic() < until, f"no host is {event}"
        time.sleep(0.01)
