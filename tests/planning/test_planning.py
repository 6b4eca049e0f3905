"""The planning machine as a whole: its worst case reached, its goal, its work, and what lists of runs show."""

from itertools import count

import pytest

from actors.handlers.briefs import GenerationBrief, JudgementBrief
from actors.run.calls import Faulted, Generated, Judged
from actors.run.state import NotStarted
from actors.search.graph import worst_case_calls
from actors.values.artifacts import LARGE
from runtime.core.ledger import Limits
from runtime.core.messages import Overdrawn, Parking, Resumed, Woken
from runtime.models.port import Fault, FaultKind, Reply
from tests.support.worlds import SEEDS, World, passed, pinned, rejected


def stubborn(passes):
    """Return a judge that accepts only attempts of these numbers (per step), and never finds the same thing twice."""
    places = count()

    def judge(request, state):
        seen = sum(1 for node in state.nodes.values() if node.step == request.step)
        return passed() if seen in passes.get(request.step, ()) else rejected("plugin.odd", where=f"s{next(places)}")

    return judge


WORST = {"g_analysis": {4}, "g_recon": {6}, "g_strategy": {2, 4, 6, 8}}


def test_the_seeds_worst_case_is_reached_and_not_passed():
    """S24, S26: analysis 4, recon 6, strategy 8, plan 3 for each of four strategies: thirty calls."""
    world = World(pinned(SEEDS), judge=stubborn(WORST))
    state = world.run()
    assert world.calls == {"g_analysis": 4, "g_recon": 6, "g_strategy": 8, "g_plan": 12}
    assert sum(world.calls.values()) == worst_case_calls(world.config.graph) == 30
    assert state.run.finished.outcome == "backtrack_ceiling"


def test_the_cap_of_calls_ends_a_run_before_its_worst_case():
    """S25, S28, S39: budget_exhausted is not backtrack_ceiling: more may help."""
    world = World(pinned(SEEDS), judge=stubborn(WORST), limits=Limits(calls=29))
    state = world.run()
    assert sum(world.calls.values()) == 29
    assert state.run.finished.outcome == "budget_exhausted"


@pytest.mark.parametrize("failing", SEEDS)
def test_a_search_that_never_goes_back_ends_as_all_pruned_and_says_why(failing):
    """S27, S28: it has no visits that could be used up, so its end is no ceiling, and larger budgets do not help."""
    keys = {"search": "linear"}
    world = World(
        pinned(SEEDS, **keys), judge=lambda request, _: rejected("x.y") if request.step == failing else passed()
    )
    finished = world.run().run.finished
    assert finished.outcome == "all_pruned"
    root = not world.config.graph.requires[failing]
    assert finished.why.endswith("this workflow does not go back") is not root


@pytest.mark.parametrize("failing", SEEDS)
def test_success_needs_every_guard(failing):
    """S2: no step may be missing, the plan at its target level included."""
    always = World(pinned(SEEDS), judge=lambda request, _: rejected("x.y") if request.step == failing else passed())
    assert always.run().run.finished.outcome in ("all_pruned", "backtrack_ceiling")
    assert World(pinned(SEEDS), judge=lambda *_: passed()).run().run.finished.outcome == "success"


def test_the_plan_is_judged_at_the_target_level():
    """S2, S34: the goal's level replaces the level that the step names."""
    config = pinned({"g_plan": {"guard": "plan_minimal"}}, target_guard_level="expansive")
    world = World(config, judge=lambda *_: passed())
    world.run()
    assert [event.guard for event in world.events if event.kind == "judgement_requested"] == ["plan_expansive"]


def test_the_happy_case_costs_one_call_a_step():
    """S6: path cost is calls, one for each operator."""
    world = World(pinned(SEEDS), judge=lambda *_: passed())
    assert world.run().run.ledger.spent.calls == 4


def test_independent_steps_are_open_together():
    """S122: analysis and recon are asked for in one batch."""
    world = World(pinned(SEEDS), judge=lambda *_: passed())
    world.begin()
    assert list(world.state.run.calls.open) == ["g_analysis/v1.a1", "g_recon/v1.a1"]
    assert {work.address for work in world.machine.outstanding(world.state).values()} == {
        "step:g_analysis",
        "step:g_recon",
    }


def test_every_piece_of_work_has_a_brief_of_its_kind():
    world = World(pinned(SEEDS), judge=lambda *_: passed(), limits=Limits(calls=30, deadline=5_000.0))
    world.begin()
    world.answer("g_analysis/v1.a1")
    world.author = lambda *_: Fault(kind=FaultKind.CUT, message="cut")
    world.answer("g_recon/v1.a1")
    work = world.machine.outstanding(world.state)
    briefs = {name: world.machine.brief(world.state, item) for name, item in work.items()}
    assert isinstance(briefs.pop("judge:g_analysis/v1.a1"), JudgementBrief)
    assert {brief.why for brief in briefs.values()} == {"back-off", "the run's deadline"}


def test_the_parsed_value_of_a_large_reply_is_not_kept_with_the_state():
    """Three replies of 4 MiB took 230 MB more than one of a few bytes."""
    world = World(pinned(SEEDS), judge=lambda *_: passed())
    world.begin()
    world.author = lambda *_: Reply(text=f'{{"a": "{"x" * LARGE}"}}', usage=None, model="m")
    world.answer("g_analysis/v1.a1")
    work = world.machine.outstanding(world.state)["judge:g_analysis/v1.a1"]
    brief = world.machine.brief(world.state, work)
    kept = world.state.nodes["g_analysis/v1.a1"].artifact
    assert brief.artifact.parsed == {"a": "x" * LARGE}
    assert brief.artifact == kept
    assert "value" not in vars(kept)


def test_a_step_without_a_model_call_is_asked_without_a_prompt():
    """S123."""
    world = World(pinned({"t": {"deterministic": True}}), judge=lambda *_: passed())
    world.begin()
    (work,) = world.machine.outstanding(world.state).values()
    brief = world.machine.brief(world.state, work)
    assert isinstance(brief, GenerationBrief)
    assert (brief.prompt.system, brief.prompt.user, work.request.reserve.calls) == ("", "", 0)


def test_what_lists_of_runs_show():
    """Running, waiting with the question and since when, parked, finished with the outcome."""
    world = World(pinned({"a": {}}), judge=lambda *_: rejected("requirements.missing"))
    machine = world.machine
    assert machine.summary(NotStarted()).status == "running"
    world.begin()
    assert machine.summary(world.state).status == "running"
    world.send(Parking(1001.0))
    assert machine.summary(world.state).status == "parked"
    world.send(Resumed(2, 1002.0))
    world.answer("a/v1.a1.t2")
    world.answer("judge:a/v1.a1")
    summary = machine.summary(world.state)
    assert (summary.status, summary.detail, summary.waiting_since) == ("waiting", "q1", world.now)


def test_a_wake_up_time_is_shown_where_nothing_but_a_clock_brings_the_run_on():
    world = World(pinned({"a": {}}), judge=lambda *_: passed(), limits=Limits(deadline=9_000.0))
    world.begin()
    assert world.machine.summary(world.state).due == 0.0
    world.send(Faulted("a/v1.a1", 1001.0, 1.0, Fault(kind=FaultKind.RATE_LIMITED, message="later", retry_after=60.0)))
    assert world.machine.summary(world.state).next_wake == 1061.0


def test_a_run_that_is_handed_over_is_due_at_once_and_one_that_a_person_parked_never():
    world = World(pinned({"a": {}}), judge=lambda *_: passed(), limits=Limits(deadline=9_000.0))
    world.begin()
    world.send(Parking(1001.0, handover=True))
    assert (world.machine.summary(world.state).status, world.machine.summary(world.state).due) == ("running", 0.0)
    world.send(Resumed(2, 1002.0))
    world.send(Parking(1003.0))
    assert (world.machine.summary(world.state).status, world.machine.summary(world.state).due) == ("parked", None)


def test_a_run_that_a_person_parked_is_not_handed_over_by_a_driver_that_cannot_go_on():
    world = World(pinned({"a": {}}), judge=lambda *_: passed())
    world.begin()
    world.send(Parking(1001.0))
    assert not world.send(Parking(1002.0, handover=True, why="no key"))
    assert world.machine.summary(world.state).status == "parked"


def test_a_run_whose_home_has_used_up_its_budget_asks_for_nothing_until_the_next_day():
    world = World(pinned({"a": {}, "b": {}}), judge=lambda *_: passed())
    world.begin()
    world.send(Overdrawn(1001.0, 5000.0, "used up"))
    world.send(Overdrawn(1001.5, 5000.0, "used up"))
    assert world.state.run.waits["home_budget"].until == 5000.0
    answered = Generated("a/v1.a1", 1002.0, 1.0, Reply(text="{}", usage=None, model="toy"))
    assert [event.kind for event in world.send(answered)] == ["artifact_produced", "judgement_requested"]
    kinds = [event.kind for event in world.send(Judged("judge:a/v1.a1", 1003.0, 0.0, rejected("field.missing")))]
    assert kinds == ["verdict_reached", "decided"]
    assert "generation_requested" in [event.kind for event in world.send(Woken("home_budget", 5000.0))]


def test_work_of_an_earlier_driver_is_never_carried_out():
    """A parked run that is taken over asks anew, under the new epoch; until then nobody does the old work."""
    world = World(pinned({"a": {}}), judge=lambda *_: passed())
    world.begin()
    stale = world.machine.evolve(world.state, world.machine.accept(world.state, Resumed(2, 1001.0)))
    assert not world.machine.outstanding(stale)
    world.send(Resumed(2, 1001.0))
    assert list(world.machine.outstanding(world.state)) == ["a/v1.a1.t2"]


def test_a_crash_between_two_records_of_a_batch_asks_for_nothing_that_a_decision_at_hand_would_withdraw():
    """The tail of a batch is lost before its replan was marked; the new driver marks it before it asks again."""
    config = pinned({"base": {"backtrack_budget": 1}, "left": {"requires": ["base"]}, "right": {"requires": ["base"]}})
    world = World(config, judge=lambda request, _: rejected("x.y") if request.step == "left" else passed())
    world.begin()
    for name in ("base/v1.a1", "judge:base/v1.a1", "left/v1.a1"):
        world.answer(name)
    world.judge = lambda *_: rejected("plan.goal_unreachable")
    world.answer("judge:left/v1.a1")
    kept = next(place for place, event in enumerate(world.events) if event.kind == "revised")
    torn = World(config, judge=world.judge)
    torn.events = world.events[:kept]
    for event in torn.events:
        torn.state = torn.machine.evolve(torn.state, event)
    after = torn.send(Resumed(2, 2_000.0))
    assert [event.kind for event in after] == ["run_resumed", "revised", "generation_requested"]


def test_two_runs_with_the_same_configuration_have_the_same_name():
    assert pinned(SEEDS).workflow_ref == pinned(SEEDS).workflow_ref != pinned(SEEDS, rmax=7).workflow_ref
