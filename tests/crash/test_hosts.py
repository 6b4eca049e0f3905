"""Several hosts serve one home, each with runs of eight branches, and one of them is killed: no budget is passed.

Real processes, a real server that bills. `REPLAN_HOSTS=8` has eight of them with eight runs each.
"""

import os
import signal
import time
from collections import Counter
from typing import Any

import trio

from actors.config.model_spec import parse_model_spec
from actors.planning.prepare import RunOptions
from replan.cli.exits import Exit
from replan.runs.home import open_home
from replan.runs.prepare import prepare_run
from replan.setup.settings import Choice, UserConfig
from runtime.journal.port import RunFilter, RunRow
from tests.crash.cli_case import Case
from tests.journal.behind import query
from tests.support.answers import Answer, request_parts
from tests.support.artifacts import GOOD, PROBLEM, plan
from tests.support.openai_server import Seen, serve

HOSTS = max(2, int(os.environ.get("REPLAN_HOSTS", "2")))
RUNS = 8 if HOSTS >= 8 else 3
"""For each host."""
BRANCHES = 8
SEARCHES = (("single", "best_of:8", 8), ("search", "beam:8", 20))
"""Workflows, searches and calls, in turn: they reserve 8 calls, 16 calls, or one at a time."""
HOME_CALLS = HOSTS * RUNS * (8 + 20) // 2 * 3 // 4
"""In a day: less than the runs together may ask for, so that some end by one limit and some by the other."""
KILLED_AT = 5
"""The reply that the first host is killed with in its hand: while all branches of its first runs ask."""
PATIENCE = 30.0 * HOSTS


def hopeless(_body: dict[str, Any], headers: Any, n: int) -> Answer:
    """Answer each call differently, or a beam would merge its branches, and never with a plan that is accepted."""
    step = request_parts(headers["x-client-request-id"])["step"]
    made = plan(needs_missing_token="licence_granted", plan_id=f"plan-{n}")
    return Answer.value(made if step == "g_plan" else GOOD[step] | {"rationale": f"Reason {n}."}).slowly(0.02)


async def admitted(environment: dict[str, str]) -> list[str]:
    """Admit all runs, while no host is there yet, so that all hosts want the same ones at once."""
    async with open_home(environment=environment) as engine:
        choice = Choice("test-model", parse_model_spec("test-model"))
        more: dict[str, Any] = {
            "config": UserConfig(),
            "registry": engine.registry,
            "root": engine.root,
            "environment": environment,
            "now": engine.clock.now(),
        }
        asked = [RunOptions(workflow=flow, search=search, max_calls=calls) for flow, search, calls in SEARCHES]
        jobs = [prepare_run(PROBLEM, one, choice, **more) for one in asked]
        return [await engine.admit(jobs[place % 2]) for place in range(HOSTS * RUNS)]


async def ended(environment: dict[str, str]) -> list[RunRow]:
    """Return the rows of all runs once each has finished, and nobody holds one any more."""
    async with open_home(environment=environment) as engine:
        with trio.fail_after(PATIENCE):
            while True:
                rows = await engine.journal.runs(RunFilter())
                if all(row.summary.status == "finished" and row.owner is None for row in rows):
                    return rows
                await trio.sleep(0.05)


def busiest(seen: list[Seen]) -> int:
    """Return how many calls were open at once, at the most."""
    moments = sorted([(one.started, 1) for one in seen] + [(one.ended or time.time(), -1) for one in seen])
    most = now = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most


def test_hosts_with_runs_of_many_branches_never_exceed_a_budget(tmp_path, fork_server):
    """S25: by the provider's bill no run passes its limit, and all together not the home's; the books agree with it.

    The killed host's runs are carried on by the others. In the end nothing is held, due or unread.
    """
    with serve(hopeless) as server:
        case = Case(tmp_path, fork_server, server)
        environment = case.request(())["env"]
        case.journal.parent.mkdir(mode=0o700)
        config = f"home_budget: {{calls: {HOME_CALLS}, when_spent: end}}\nhost: {{runs_max: {RUNS}}}\n"
        (case.journal.parent / "config.yaml").write_text(config)
        runs = trio.run(admitted, environment)
        kills = [{"label": "reply.after", "nth": KILLED_AT}, *[None] * (HOSTS - 1)]
        requests = [case.request(("host", "--json"), f"{n}.", kill=kill) for n, kill in enumerate(kills)]
        hosts = [fork_server.start(request) for request in requests]
        try:
            rows = trio.run(ended, environment)
        finally:
            for host in hosts:
                os.kill(host, signal.SIGTERM)  # The killed one too: its number stays its own until it is waited for.
            codes = [fork_server.wait(host) for host in hosts]
        assert codes == [-signal.SIGKILL, *[Exit.OK] * (HOSTS - 1)]

        case.check_billing()
        billed = Counter(request.partition("/")[0] for request in case.requested())
        results = [result for result, _ in case.runs().values()]
        days = dict(query(case.journal, "SELECT day, calls FROM spending"))
        held = query(case.journal, "SELECT count(*), (SELECT count(*) FROM unread) FROM agenda")
    taken = {result.run_id: result.calls for result in results}
    assert set(billed) <= set(runs) == set(taken)
    assert {row.summary.detail for row in rows} == {"budget_exhausted"}
    limits = {run: SEARCHES[place % 2][2] for place, run in enumerate(runs)}
    assert all(billed[run] <= taken[run] <= limits[run] for run in runs)
    assert sum(days.values()) == sum(taken.values())
    assert max(days.values()) <= HOME_CALLS
    assert {"home's budget" in result.why for result in results} == {True, False}, "both limits have ended runs"
    assert held == [(0, 0)]
    assert busiest(server.seen) >= BRANCHES
