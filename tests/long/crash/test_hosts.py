"""Several hosts drive runs of eight branches in one home, and one host is killed: no budget is exceeded.

Real processes and a real server. `REPLAN_HOSTS=8` starts eight hosts with eight runs each.
"""

import os
import signal
import time
from collections import Counter
from typing import Any

import trio

from actors.config.model_spec import parse_model_spec
from actors.planning.prepare import PlanningInput, RunOptions
from replan.cli.exits import Exit
from replan.runs.home import open_home
from replan.runs.prepare import RunOrder, prepare
from replan.setup.settings import ModelChoice, UserConfig
from runtime.journal.port import RunFilter, RunRow
from tests.journal.behind import query
from tests.long.crash.cli_case import Case
from tests.support.answers import Answer, by_step, request_parts
from tests.support.artifacts import GOOD, PROBLEM, plan
from tests.support.openai_server import Seen, serve

HOSTS = max(2, int(os.environ.get("REPLAN_HOSTS", "2")))
RUNS = 8 if HOSTS >= 8 else 3
"""For each host."""
BRANCHES = 8
SEARCHES = (("single", "best_of:8", 8), ("search", "beam:8", 20))
"""Workflow, search and limit on calls of the runs, in turn."""
HOME_CALLS = HOSTS * RUNS * (8 + 20) // 2 * 3 // 4
"""The daily budget: less than the sum of the runs' limits, so that both kinds of limits end runs."""
KILLED_AT = 5
"""The number of the reply at which the first host is killed, while the branches of its first runs have open calls."""
PATIENCE = 30.0 * HOSTS


def rejected_plans(_body: dict[str, Any], headers: Any, n: int) -> Answer:
    """Return a different reply each time, since a beam merges equal branches, and never a plan that is accepted."""
    step = request_parts(headers["x-client-request-id"])["step"]
    value = plan(needs_missing_token="licence_granted", plan_id=f"plan-{n}")
    return Answer.value(value if step == "g_plan" else GOOD[step] | {"rationale": f"Reason {n}."}).slowly(0.1)


async def admit_runs(environment: dict[str, str]) -> list[str]:
    """Admit all runs before the hosts start, so that all hosts compete for the same runs."""
    async with open_home(environment=environment) as engine:
        choice = ModelChoice("test-model", parse_model_spec("test-model"))
        more: dict[str, Any] = {
            "config": UserConfig(),
            "registry": engine.registry,
            "environment": environment,
            "now": engine.clock.now(),
        }
        options = [
            RunOptions(workflow=flow, search=search, limits={"max_calls": calls}) for flow, search, calls in SEARCHES
        ]
        requests = [prepare(RunOrder(PlanningInput(PROBLEM, item), choice.text), **more).request for item in options]
        return [await engine.admit(requests[place % 2]) for place in range(HOSTS * RUNS)]


async def wait_for_end(environment: dict[str, str]) -> list[RunRow]:
    """Wait until all runs have finished and have no owner; return their rows."""
    async with open_home(environment=environment) as engine:
        with trio.fail_after(PATIENCE):
            while True:
                rows = await engine.journal.runs(RunFilter())
                if all(row.summary.status == "finished" and row.owner is None for row in rows):
                    return rows
                await trio.sleep(0.05)


def busiest(seen: list[Seen]) -> int:
    """Return the largest number of calls open at the same time."""
    moments = sorted([(call.started, 1) for call in seen] + [(call.ended or time.time(), -1) for call in seen])
    maximum = current = 0
    for _, change in moments:
        current += change
        maximum = max(maximum, current)
    return maximum


def test_hosts_with_runs_of_many_branches_never_exceed_a_budget(tmp_path, commands):
    """S25: the received requests of each run are within its limit, and all together within the home's.

    The other hosts resume the killed host's runs. At the end no run is held or due, and no message is unread.
    """
    with serve(rejected_plans) as server:
        case = Case(tmp_path, commands, server)
        environment = case.environment
        case.journal.parent.mkdir(mode=0o700)
        config = f"home_budget: {{calls: {HOME_CALLS}, when_spent: end}}\nhost: {{runs_max: {RUNS}}}\n"
        (case.journal.parent / "config.yaml").write_text(config)
        runs = trio.run(admit_runs, environment)
        kills = [{"label": "reply.after", "nth": KILLED_AT}, *[None] * (HOSTS - 1)]
        hosts = [case.start(("host", "--json"), f"{n}.", kill=kill) for n, kill in enumerate(kills)]
        try:
            rows = trio.run(wait_for_end, environment)
        finally:
            for host in hosts:
                host.send_signal(signal.SIGTERM)
            codes = [host.rest() for host in hosts]
        assert codes == [-signal.SIGKILL, *[Exit.OK] * (HOSTS - 1)]

        case.check_billing()
        billed = Counter(request.partition("/")[0] for request in case.requested())
        results = [result for result, _ in case.runs().values()]
        days = dict(query(case.journal, "SELECT day, calls FROM spending"))
        held = query(case.journal, "SELECT count(*), (SELECT count(*) FROM unread) FROM agenda")
    charged = {result.run_id: result.calls for result in results}
    assert set(billed) <= set(runs) == set(charged)
    assert {row.summary.detail for row in rows} == {"budget_exhausted"}
    limits = {run: SEARCHES[place % 2][2] for place, run in enumerate(runs)}
    assert all(billed[run] <= charged[run] <= limits[run] for run in runs)
    assert sum(days.values()) == sum(charged.values())
    assert max(days.values()) <= HOME_CALLS
    assert {"home's budget" in result.why for result in results} == {True, False}, "both limits have ended runs"
    assert held == [(0, 0)]
    assert busiest(server.seen) >= BRANCHES


PROCESSES, CALLS = 3, 7
HOPELESS = {
    **{step: [Answer.value(GOOD[step]).slowly(0.02)] * 200 for step in GOOD},
    "g_plan": [Answer.value(plan(needs_missing_token="licence_granted")).slowly(0.02)] * 200,
}
"""No plan in it is accepted, so that only the budget ends a run."""


def test_processes_that_share_a_home_never_exceed_the_budgets_of_its_runs(tmp_path, commands):
    """S25: the received requests of each run are within its limit, and agree with its journal, call by call."""
    with serve(by_step(HOPELESS)) as server:
        case = Case(tmp_path, commands, server)
        command = case.run_command(CALLS)
        kills = [{"label": "reply.after", "nth": 2}, {"label": "append.after", "nth": 5}, None]
        started = [case.start(command, f"{n}.", kill=kills[n]) for n in range(PROCESSES)]
        codes = [child.rest() for child in started]
        assert codes == [-9, -9, Exit.BUDGET]
        open_runs = [run for run, (_, records) in case.runs().items() if records[-1].event.kind != "run_finished"]
        resumed = [case.start(("resume", run, "--json"), f"{run}.") for run in open_runs]
        assert [child.rest() for child in resumed] == [Exit.BUDGET, Exit.BUDGET]
        case.check_billing()
        for run, (result, _) in case.runs().items():
            billed = [request for request in case.requested() if request.startswith(f"{run}/")]
            assert 0 < len(billed) <= result.calls <= CALLS
