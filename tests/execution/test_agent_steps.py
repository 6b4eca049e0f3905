"""Steps that a coding agent carries out: the order of its requests, its money, and what follows from each end."""

import json

import pytest

from actors.execution.attempts import phases_of
from actors.execution.views import news_text, record_text
from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from actors.run.tools import Begun, Checked, Ended, ToolCost, ToolOutcome
from actors.run.waits import HOME_BUDGET
from actors.tools.agent_work import AgentWork
from actors.tools.snapshot_texts import WorkspaceSnapshot
from runtime.core.ledger import Amount, Limits
from runtime.core.messages import Overdrawn
from tests.execution.stage import BASE, WORK, Stage, agent, person, plan, step, tool, toolset

DOLLAR = 1_000_000
PLAN = plan(step("a", "start", "goal", retry_budget=2))


def stage(use=None, check=None, value=PLAN, **fields):
    return Stage(value, toolset({"do_a": use or agent(repeatable=False)}, {"syntax": check or tool("check")}), **fields)


def recorded(run, *, commit=BASE):
    """Record the workspace, which makes the agent's call the next one."""
    snapshot = WorkspaceSnapshot(id=commit, ref="refs/replan/run/a" if commit == BASE else "")
    return run.tool("workspace:snapshot", output=snapshot.model_dump_json())


def works(run, cost=None, outcome=ToolOutcome.SUCCEEDED, reason=""):
    [name] = run.requests("tool:coder")
    run.now += 1.0
    run.send(Begun(name, run.now, "host/ns/1/2"))
    run.now += 1.0
    return run.send(Ended(name, run.now, 1.0, outcome, "Mended.", reason, cost))


def brings(run, *files):
    work = AgentWork(base=BASE, commit=WORK, files=files or ("app/login.py",), diff="+x")
    return run.tool("worktree:diff", output=work.model_dump_json())


def worked(*files, **fields):
    """Return an execution whose agent has brought its work."""
    run = stage(**fields)
    recorded(run)
    works(run)
    brings(run, *files)
    return run


def begun(*given, **fields):
    """Return an execution whose agent was begun by a driver that is gone."""
    run = stage(*given, **fields)
    recorded(run)
    [name] = run.requests("tool:coder")
    run.send(Begun(name, run.now, "host/ns/1/2"))
    return run


def request(run):
    [work] = run.work.values()
    return work.request


def test_work_is_recorded_checked_and_only_then_merged():
    run = stage()
    assert request(run).tool == "workspace:snapshot"
    recorded(run)
    told = json.loads(request(run).arguments)
    assert (told["base"], told["name"]) == (BASE, "a/r1.v1.a1")
    assert "Mend the login." in told["prompt"]
    assert "The login fails with a timeout" in told["prompt"]
    works(run, ToolCost(micro_usd=300_000, turns=2))
    assert json.loads(request(run).arguments) == {
        "base": BASE,
        "name": "a/r1.v1.a1",
        "files_max": 10,
        "diff_bytes_max": 1_000,
    }
    brings(run)
    assert (request(run).tool, request(run).commit) == ("check", WORK)
    run.tool("check")
    assert json.loads(request(run).arguments) == {"base": BASE, "commit": WORK, "name": "a/r1.v1.a1"}
    run.tool("workspace:merge")
    assert run.end == "success"
    assert run.state.run.ledger.spent == Amount(micro_usd=300_000)


def test_the_phases_are_those_of_an_agent_whatever_checks_it():
    for check, snapshots, phases in (
        (tool("check"), False, "base act diff check merge"),
        (tool("check", pre_check=tool("p")), True, "base act diff check_pre check merge snapshot"),
        (person(), True, "base act diff check merge snapshot"),
    ):
        run = stage(check=check, snapshots=snapshots)
        assert [str(phase) for phase in phases_of(run.config, run.state.plan, "a")] == phases.split()
    run = stage(agent(repeatable=False, risky=True, pre_check=tool("p")), approval="risky")
    assert [str(phase) for phase in phases_of(run.config, run.state.plan, "a")][:3] == ["approve", "pre", "base"]


def test_a_failed_check_merges_nothing_and_the_next_attempt_is_told_why():
    run = worked()
    run.tool("check", ToolOutcome.FAILED, output="2 tests failed")
    assert not run.state.effects
    recorded(run)
    told = json.loads(request(run).arguments)
    assert "2 tests failed" in told["prompt"]
    assert told["name"] == "a/r1.v1.a2"


def test_the_effect_of_a_step_is_its_merge():
    value = plan(step("a", "start", "goal", retry_budget=2, undo="nothing"))
    run = stage(value=value)
    recorded(run)
    works(run)
    assert not run.state.effects
    brings(run)
    run.tool("check")
    assert not run.state.effects
    run.tool("workspace:merge")
    assert [each.node for each in run.state.effects.values()] == ["a/r1.v1.a1.merge"]


@pytest.mark.parametrize(
    ("cost", "spent", "unknown"),
    [
        (ToolCost(micro_usd=300_000), 300_000, 0),
        (ToolCost(micro_usd=1_500_000), 1_500_000, 0),
        (ToolCost(input_tokens=5), 0, DOLLAR),
        (None, 0, DOLLAR),
    ],
)
def test_the_most_is_reserved_and_settled_with_the_cost_or_charged_as_unknown(cost, spent, unknown):
    run = stage()
    recorded(run)
    assert sum(each.micro_usd for each in run.state.run.ledger.reserved.values()) == DOLLAR
    works(run, cost, ToolOutcome.FAILED, "it failed")
    ledger = run.state.run.ledger
    assert (ledger.spent.micro_usd, ledger.unknown.micro_usd, dict(ledger.reserved)) == (spent, unknown, {})


def test_an_agent_that_the_budget_cannot_pay_is_not_called():
    run = stage(limits=Limits(calls=90, micro_usd=1_200_000))
    recorded(run)
    works(run, ToolCost(micro_usd=300_000), ToolOutcome.FAILED, "it failed")
    recorded(run)
    assert run.end == "budget_exhausted"
    assert run.state.run.finished.why == "no money left"


@pytest.mark.parametrize("outcome", [ToolOutcome.TRANSIENT, ToolOutcome.BROKEN])
def test_nobody_is_asked_about_an_agent_that_did_not_get_to_its_end(outcome):
    """Its worktree is thrown away, so that nothing of it is in the workspace."""
    run = stage()
    recorded(run)
    works(run, None, outcome, "the call took longer than 60 s")
    assert not run.requests("user")
    assert run.state.active["a"].number == 2 or run.requests("clock")


def test_a_workspace_that_is_no_repository_fails_the_attempt_before_the_agent_is_called():
    run = stage(replans=False)
    recorded(run, commit="listing:1")
    assert not run.requests("tool:coder")
    assert "the workspace is not the top folder of a git repository" in str(run.events)


@pytest.mark.parametrize("files", [("app/login.py", "tests/x.py"), ("tests",)])
def test_work_on_a_protected_path_is_neither_checked_nor_merged(files):
    protects = {"id": "r", "kind": "must_avoid", "text": "no tests", "quote": "no tests", "paths": ["tests"]}
    run = worked(*files, value=plan(step("a", "start", "goal", retry_budget=1), requirements=[protects]), replans=False)
    assert not run.requests("tool:check")
    assert not run.requests("tool:workspace:merge")
    assert "the agent's work is not merged: must_avoid: no tests" in str(run.events)
    assert not run.state.violations


def taken_over(run):
    run.resume()
    [name] = [name for name in run.requests() if name.startswith("check:")]
    run.now += 1.0
    return run.send(Checked(name, run.now, certain=True))


def killed(use):
    run = begun(use)
    taken_over(run)
    return run


def test_after_a_kill_a_person_is_asked_what_became_of_an_agent():
    run = killed(agent(repeatable=False))
    assert "What became of the call" in run.question()[0]
    run.answer(NOT_RUN)
    assert request(run).request_id == "tool:a/r1.v1.a1.act.t2"
    ledger = run.state.run.ledger
    assert (ledger.unknown.micro_usd, ledger.reserved["tool:a/r1.v1.a1.act.t2"].micro_usd) == (DOLLAR, DOLLAR)


@pytest.mark.parametrize(("answer", "tool_name"), [(SUCCEEDED, "worktree:diff"), (FAILED, "workspace:snapshot")])
def test_the_answer_decides_whether_the_work_is_recorded_or_the_step_begins_anew(answer, tool_name):
    run = killed(agent(repeatable=False))
    run.answer(answer)
    if run.requests("clock"):
        run.woken()
    assert request(run).tool == tool_name
    assert run.state.run.ledger.unknown.micro_usd == DOLLAR


def test_after_a_kill_a_repeatable_agent_is_called_again_and_both_are_charged():
    run = killed(agent(repeatable=True))
    assert request(run).request_id == "tool:a/r1.v1.a1.act.t2"
    works(run, ToolCost(micro_usd=100_000))
    ledger = run.state.run.ledger
    assert (ledger.spent.micro_usd, ledger.unknown.micro_usd) == (100_000, DOLLAR)


def test_a_call_that_was_not_begun_costs_nothing():
    run = stage()
    recorded(run)
    run.resume()
    assert request(run).request_id == "tool:a/r1.v1.a1.act.t2"
    assert run.state.run.ledger.unknown.micro_usd == 0


def test_the_run_ends_where_the_money_for_another_call_after_a_kill_is_not_there():
    run = begun(agent(repeatable=True), limits=Limits(calls=90, micro_usd=1_500_000))
    taken_over(run)
    assert run.end == "budget_exhausted"


@pytest.mark.parametrize(
    ("phase", "again"), [("check", ["check", "workspace:merge"]), ("workspace:merge", ["workspace:merge"])]
)
def test_what_could_not_run_for_the_moment_is_made_again_without_the_agent(phase, again):
    run = worked()
    if phase != "check":
        run.tool("check")
    run.tool(phase, ToolOutcome.TRANSIENT, reason="the disk is full")
    if run.requests("clock"):
        run.woken()
    assert request(run).commit == (WORK if phase == "check" else "")
    for name in again:
        run.tool(name)
    assert run.end == "success"


def test_a_merge_conflict_fails_the_attempt_and_the_agent_begins_with_the_workspace_as_it_is():
    run = worked()
    run.tool("check")
    run.tool("workspace:merge", ToolOutcome.FAILED, reason="merge conflict: a.py changed in the workspace too")
    assert request(run).tool == "workspace:snapshot"
    recorded(run)
    assert "merge conflict: a.py" in json.loads(request(run).arguments)["prompt"]


def test_a_person_who_checks_is_told_how_to_see_the_work():
    run = worked(check=person())
    assert f"git diff {BASE[:16]} {WORK[:16]}" in run.question()[0]


def test_an_agent_waits_for_the_next_day_of_the_homes_budget():
    run = stage()
    run.send(Overdrawn(1_001.0, 5_000.0, "used up"))
    recorded(run)
    assert run.requests() == [HOME_BUDGET]
    run.woken()
    assert run.requests("tool:coder")


def test_a_call_of_an_earlier_driver_waits_for_the_next_day_too():
    run = begun(agent(repeatable=True))
    run.resume()
    run.send(Overdrawn(run.now, run.now + 5_000.0, "used up"))
    [check] = [name for name in run.requests() if name.startswith("check:")]
    run.send(Checked(check, run.now, certain=True))
    assert run.requests() == [HOME_BUDGET]
    run.woken()
    assert request(run).request_id == "tool:a/r1.v1.a1.act.t2"


def test_the_reservation_counts_in_the_row_of_the_run():
    run = stage()
    recorded(run)
    row = run.machine.summary(run.state)
    assert (row.committed.micro_usd, row.reserved.micro_usd) == (DOLLAR, DOLLAR)
    works(run, ToolCost(micro_usd=300_000))
    row = run.machine.summary(run.state)
    assert (row.committed.micro_usd, row.reserved.micro_usd) == (300_000, 0)


def test_what_an_agent_did_is_shown_in_one_line():
    run = stage()
    recorded(run)
    works(run, ToolCost(micro_usd=300_000, input_tokens=1_000, output_tokens=200, turns=3))
    brings(run, "a.py", "b.py")
    lines = [news_text(event, run.state) for event in run.events]
    assert "a: attempt 1 succeeded ($0.3000, 1,200 tokens, 3 turns): Mended." in lines
    assert "a: attempt 1 changed 2 files: a.py, b.py" in lines
    told = [record_text(event, run.state) for event in run.events]
    assert f"tool:a/r1.v1.a1.diff succeeded: 2 files: a.py, b.py (git diff {BASE[:16]} {WORK[:16]})" in told
