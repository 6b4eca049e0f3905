"""Child runs: their results, budgets and failures, and the effect of a stop or a cancel of the parent."""

from functools import partial

import pytest
import trio
import yaml

from actors.config.workflow_check import DEPTH_MAX, check_workflow
from actors.planning.children import child_of
from actors.planning.events import ArtifactProduced, Decided, GenerationRequested, VerdictReached
from actors.planning.kind import CODEC, PLANNING
from actors.planning.prepare import PlanningInput, RunOptions
from actors.run.ids import child_run, is_child
from replan.cli.exits import Exit, exit_of_result
from replan.runs.engine import Engine
from replan.runs.prepare import RunOrder, prepare
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from runtime.core.clock import SystemClock
from runtime.core.errors import JournalError, UsageProblem
from runtime.drive.options import DriveOptions, Stop
from runtime.journal.memory import open_memory
from runtime.journal.port import RunFilter
from tests.support.artifacts import GOOD, PROBLEM, plan

BROKEN = plan(needs_missing_token="licence_granted")
CHILD = """
name: below
action_pairs:
  c_strategy: {generator: model, guard: strategy_valid, rmax: 1}
  c_plan: {generator: model, guard: plan_medium, requires: [c_strategy], rmax: 1}
"""
PARENT = """
name: above
max_total_calls: 9
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid}
  g_plan: {generator: "workflow:./below.yaml", guard: plan_medium, requires: [g_analysis], rmax: 2}
"""


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder / "above.yaml"


class ParentRun:
    """A journal in memory, a script, and the request for the parent run."""

    def __init__(self, journal, folder, script, *, above=PARENT, below=CHILD, **options):
        write(folder, above=above, below=below)
        (folder / "script.yaml").write_text(yaml.safe_dump(script))
        self.engine = Engine(journal, registry=registry(), environment={})
        model = f"scripted:{folder / 'script.yaml'}"
        self.request = prepare(
            RunOrder(PlanningInput(PROBLEM, RunOptions(workflow=str(folder / "above.yaml"), **options)), model),
            config=UserConfig(),
            registry=self.engine.registry,
            environment={},
            now=0.0,
        ).request

    async def events(self, run, kind):
        _, records = await self.engine.load(run)
        return [record.event for record in records if isinstance(record.event, kind)]

    async def has_artifact(self, run):
        return run in await self.runs() and bool(await self.events(run, ArtifactProduced))

    async def runs(self):
        return {row.run: row.summary for row in await self.engine.journal.runs(RunFilter())}


def answers(*plans, strategies=9):
    return {"g_analysis": [GOOD["g_analysis"]], "c_strategy": [GOOD["g_strategy"]] * strategies, "c_plan": list(plans)}


@pytest.fixture
async def journal():
    async with open_memory(CODEC, SystemClock()) as opened:
        yield opened


async def test_the_plan_of_a_child_is_the_artifact_and_its_usage_is_charged(journal, tmp_path):
    parent = ParentRun(journal, tmp_path, answers(plan()))
    result = await parent.engine.begin(parent.request, run="top")
    assert (result.outcome, result.plan_json, result.calls) == ("success", plan(), 3)
    requested = (await parent.events("top", GenerationRequested))[-1]
    produced = (await parent.events("top", ArtifactProduced))[-1]
    assert (requested.calls, produced.calls) == (2, 2)
    child = child_run("top", "g_plan/v1.a1")
    assert is_child(child)
    assert (await parent.runs())[child].detail == "success"
    state, _ = await parent.engine.load(child)
    assert (state.specification != PROBLEM, state.run.ledger.limits.calls) == (True, 2)
    assert PROBLEM.strip() in state.specification, "the child reads the artifacts that its step requires"


async def test_an_unsuccessful_child_is_a_rejection_and_the_next_attempt_is_a_new_child(journal, tmp_path):
    parent = ParentRun(journal, tmp_path, answers(BROKEN, plan()))
    result = await parent.engine.begin(parent.request, run="top")
    assert (result.outcome, result.calls) == ("success", 5)
    first = [event for event in await parent.events("top", VerdictReached) if not event.verdict.passed]
    [finding] = first[0].verdict.errors
    assert finding.code == "child.unsuccessful"
    assert child_run("top", "g_plan/v1.a1") in finding.message
    assert "backtrack_ceiling" in finding.message
    assert (await parent.events("top", Decided))[0].rule == "otherwise"
    second, _ = await parent.engine.load(child_run("top", "g_plan/v1.a2"))
    assert "backtrack_ceiling" in second.specification, "the next run reads why the last one was rejected"


async def test_a_parent_waits_with_a_child_for_its_provider(journal, tmp_path):
    parent = ParentRun(journal, tmp_path, answers({"fault": "auth", "message": "no such key"}))
    result = await parent.engine.begin(parent.request, run="top")
    assert (result.status, result.cause, result.fault.kind) == ("parked", "provider", "auth")
    assert exit_of_result(result) == Exit.PROVIDER
    child = child_run("top", "g_plan/v1.a1")
    assert result.why == f"auth: run {child}: no such key"
    assert len(await parent.events("top", GenerationRequested)) == 2, "no request is repeated"
    result = await parent.engine.resume("top")
    assert len(await parent.events("top", GenerationRequested)) == 2, "the child goes on"


async def test_a_child_gets_at_most_the_remaining_calls(journal, tmp_path):
    parent = ParentRun(journal, tmp_path, answers(plan()), limits={"max_calls": 2})
    result = await parent.engine.begin(parent.request, run="top")
    assert (result.outcome, result.calls) == ("budget_exhausted", 2)
    state, _ = await parent.engine.load(child_run("top", "g_plan/v1.a1"))
    assert (state.run.ledger.limits.calls, state.run.finished.outcome) == (1, "budget_exhausted")


async def test_the_usage_of_a_child_counts_once_for_the_home(journal, tmp_path):
    """The row of a child has no amounts: they are the parent's."""
    parent = ParentRun(journal, tmp_path, answers(plan()))
    await parent.engine.begin(parent.request, run="top")
    rows = await parent.runs()
    assert sum(row.committed.calls for row in rows.values()) == 3


async def test_a_parked_parent_parks_its_child_and_both_resume(journal, tmp_path):
    """No finished call is repeated, and none is charged twice."""
    script = answers({"reply": plan(), "delay_seconds": 1.0})
    parent, stop = ParentRun(journal, tmp_path, script), Stop()

    def park(record, _):
        if isinstance(record.event, GenerationRequested) and record.event.step == "g_plan":
            stop.requested.set()

    result = await parent.engine.begin(parent.request, DriveOptions(stop, park), run="top")
    child = child_run("top", "g_plan/v1.a1")
    assert result.status == "parked"
    result = await parent.engine.resume("top")
    assert (result.outcome, result.plan_json, result.calls) == ("success", plan(), 3)
    assert len(await parent.events("top", GenerationRequested)) == 2
    assert len(await parent.events(child, ArtifactProduced)) == 2


async def test_a_journal_failure_in_a_child_ends_neither_run(journal, tmp_path):
    """The journal may be busy for a moment. The driver ends, as for a failed append of the parent."""
    parent = ParentRun(journal, tmp_path, answers(plan()))
    child, append, failures = child_run("top", "g_plan/v1.a1"), journal.append, ["busy"]

    async def busy(run, **named):
        if run == child and failures:
            raise JournalError(failures.pop())
        return await append(run, **named)

    journal.append = busy
    with pytest.raises(JournalError, match="busy"):
        await parent.engine.begin(parent.request, run="top")
    result = await parent.engine.resume("top")
    assert (result.outcome, result.plan_json) == ("success", plan())


async def test_the_result_of_a_finished_child_is_used_without_a_new_request(journal, tmp_path):
    """The state after a kill between the child's last record and the parent's next one."""
    parent = ParentRun(journal, tmp_path, answers(plan()))
    with trio.CancelScope() as killed:

        def kill(record, _):
            if isinstance(record.event, GenerationRequested) and record.event.step == "g_plan":
                killed.cancel()

        await parent.engine.begin(parent.request, DriveOptions(on_record=kill), run="top")
    state, _ = await parent.engine.load("top")
    [opened] = state.run.calls.open.values()
    [work] = PLANNING.machine.outstanding(state).values()
    brief = PLANNING.machine.brief(state, work)
    name = state.config.model
    async with parent.engine.model(name, {}) as model:
        below = await parent.engine.drive_child(child_of(brief), (name, model), DriveOptions())
    assert below.run.finished.outcome == "success"
    result = await parent.engine.resume("top")
    assert (result.outcome, result.plan_json, result.calls) == ("success", plan(), 3)
    assert opened.request.try_number == 1


async def test_a_cancel_of_the_parent_cancels_the_child(journal, tmp_path):
    parent = ParentRun(journal, tmp_path, answers({"reply": plan(), "delay_seconds": 60.0}))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(parent.engine.begin, parent.request, run="top"))
        child = child_run("top", "g_plan/v1.a1")
        while not await parent.has_artifact(child):  # noqa: ASYNC110 -- a journal sends no event
            await trio.sleep(0.01)
        await parent.engine.cancel("top")
    assert {name: row.detail for name, row in (await parent.runs()).items()} == {"top": "cancelled", child: "cancelled"}


async def test_a_child_that_is_withdrawn_before_its_slot_is_never_created(journal, tmp_path):
    """Two branches request one child each, and the step has a concurrency of one."""
    script = answers({"reply": plan(), "delay_seconds": 3.0})
    script["g_analysis"] *= 2
    one_at_a_time = PARENT.replace("rmax: 2", "rmax: 1, concurrency: 1")
    parent = ParentRun(journal, tmp_path, script, above=one_at_a_time, search="best_of:2")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(parent.engine.begin, parent.request, run="top"))
        begun, requests = False, []
        while not (begun and len(requests) == 4):
            await trio.sleep(0.01)
            begun = any([await parent.has_artifact(run) for run in await parent.runs() if is_child(run)])
            requests = await parent.events("top", GenerationRequested) if begun else []
        await parent.engine.cancel("top")
    assert [event.step for event in requests] == ["g_analysis"] * 2 + ["g_plan"] * 2
    assert len(await parent.runs()) == 2, "the parent and one child"


async def test_a_child_that_outlived_its_parent_is_ended_by_the_next_resume(journal, tmp_path, caplog):
    """The journal fails just after the end of the parent, which is recorded."""
    parent = ParentRun(journal, tmp_path, answers({"reply": plan(), "delay_seconds": 60.0}))
    child, post, failures = child_run("top", "g_plan/v1.a1"), journal.post, ["busy"]

    async def busy(run, *arguments):
        if run == child and failures:
            raise JournalError(failures.pop())
        return await post(run, *arguments)

    journal.post = busy
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(parent.engine.begin, parent.request, run="top"))
        while not await parent.has_artifact(child):  # noqa: ASYNC110 -- a journal sends no event
            await trio.sleep(0.01)
        await parent.engine.cancel("top")
    assert {name: row.status for name, row in (await parent.runs()).items()} == {"top": "finished", child: "parked"}
    assert "children.kept" in caplog.text
    assert (await parent.engine.resume("top")).outcome == "cancelled"
    assert (await parent.runs())[child].detail == "cancelled"


def usage_problem(path):
    known = registry()
    with pytest.raises(UsageProblem) as caught:
        check_workflow(str(path), data_root(), known.guards, known.generator_names)
    return str(caught.value)


def test_workflows_that_run_each_other_are_refused_at_the_line_of_the_cycle(tmp_path):
    top = write(
        tmp_path, above=PARENT, below=CHILD.replace("{generator: model", '{generator: "workflow:above.yaml"', 1)
    )
    place = f"{tmp_path / 'below.yaml'}:4 action_pairs.c_strategy.generator: workflows run each other"
    assert (
        usage_problem(top) == f"{place}: above -> below -> above (in one of these workflows, use the generator `model`)"
    )


def test_child_workflows_have_a_maximum_depth(tmp_path):
    step = 'name: w\naction_pairs:\n  s: {generator: "workflow:./w%d.yaml", guard: plan_medium}\n'
    for number in range(DEPTH_MAX):
        (tmp_path / f"w{number}.yaml").write_text(step % (number + 1))
    (tmp_path / f"w{DEPTH_MAX}.yaml").write_text(CHILD)
    assert f"w{DEPTH_MAX - 1}.yaml:3" in usage_problem(tmp_path / "w0.yaml")
    assert usage_problem(tmp_path / "w0.yaml").endswith("would nest 5 workflows; at most 4 are allowed")
    known = registry()
    check_workflow(str(tmp_path / "w1.yaml"), data_root(), known.guards, known.generator_names)


def test_an_unknown_child_workflow_is_reported_with_its_line(tmp_path):
    top = write(tmp_path, above=PARENT.replace("./below.yaml", "serach"))
    assert (
        usage_problem(top)
        == f"{top}:6 action_pairs.g_plan.generator: unknown workflow 'serach' (did you mean 'search'?)"
    )
    top = write(tmp_path, above=PARENT.replace("below", "nowhere"))
    assert f"{top}:6 action_pairs.g_plan.generator: no such file" in usage_problem(top)


def test_a_workflow_that_asks_a_person_cannot_be_a_child(tmp_path):
    top = write(tmp_path, above=PARENT, below=CHILD.replace("plan_medium", "human_review, role: plan"))
    assert (
        f"{tmp_path / 'below.yaml'}:5 action_pairs.c_plan.guard: a child workflow cannot ask a person"
        in usage_problem(top)
    )
