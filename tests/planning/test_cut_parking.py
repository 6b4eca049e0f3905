"""Cut and filtered replies on the pure machine: one shorter attempt, then a person, then once more."""

import json

import pytest

from actors.planning.prompt_context import context_for
from actors.run.parking import RunParked
from actors.run.settings import SettingsChanged
from runtime.core.ledger import Limits
from runtime.core.machine import fold, settle
from runtime.core.messages import Mailed, Parking, Resumed
from runtime.models.port import Reply
from tests.support.worlds import SEEDS, World, passed, pinned, rejected

STEPS = {"a": {"rmax": 2, "backtrack_budget": 1}, "b": {"requires": ["a"], "rmax": 3}}


def world(script, steps=STEPS, judge=lambda _request, _state: passed(), **keys):
    """Return a world whose authors answer by finish reason: `script` has those of each step, then `stop`."""
    reasons = {step: iter(listed) for step, listed in script.items()}

    def author(request, _state):
        reason = next(reasons.get(request.step, iter(())), "stop")
        text = json.dumps({"by": request.request_id})
        return Reply(text if reason == "stop" else text[:-1], None, "toy", finish_reason=reason)

    return World(pinned(steps, **keys), judge, author)


def resume(run, **change):
    """Drive a run again as a person does, perhaps with changed settings: facts first, then decisions."""
    run.now += 1.0
    messages = [Resumed(run.state.run.epoch + 1, run.now, at_once=True)]
    if change:
        messages.append(Mailed(1, "change", json.dumps({"kind": "change", **change}), run.now))
    for message in messages:
        fact = run.machine.accept(run.state, message)
        run.state = run.machine.evolve(run.state, fact)
        run.events.append(fact)
    run.state, following = settle(run.machine, run.state)
    run.events += following
    return run.run()


def parkings(run):
    return [event for event in run.events if isinstance(event, RunParked)]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_one_reply_without_its_end_is_followed_by_another_attempt(reason):
    run = world({"a": [reason]})
    assert run.run().run.finished.outcome == "success"
    assert run.requested() == ["a/v1.a1", "a/v1.a2", "b/v1.a1"]
    assert run.kinds().count("judgement_requested") == 2


@pytest.mark.parametrize("reasons", [["length", "length"], ["content_filter"] * 2, ["length", "content_filter"]])
def test_the_second_one_in_a_visit_parks(reasons):
    """Nothing is outstanding, a host leaves the run alone, and the reason says what happened."""
    run = world({"a": reasons})
    state = run.run()
    (parked,) = parkings(run)
    code = "reply.cut" if reasons[1] == "length" else "reply.filtered"
    assert (parked.handover, parked.cause) == (False, "reply")
    assert parked.why.startswith(f"a: {code} again: ")
    assert run.machine.summary(state).status == "parked"
    assert run.machine.outstanding(state) == {}
    assert "decided" not in run.kinds()[-2:]


def test_a_resumed_run_attempts_the_step_once_more_in_the_same_visit():
    """Also where `rmax` is used up: no other step is redone for a limit that was too small."""
    run = world({"a": ["length", "length"]})
    run.run()
    assert resume(run, output_tokens_max=9000).run.finished.outcome == "success"
    assert run.requested() == ["a/v1.a1", "a/v1.a2", "a/v1.a3", "b/v1.a1"]
    assert run.state.config.steps["a"].output_tokens_max == run.state.config.steps["b"].output_tokens_max == 9000
    (change,) = (event for event in run.events if isinstance(event, SettingsChanged))
    assert change.output_tokens_max == 9000


def test_what_is_reserved_follows_the_new_limit():
    run = world({"a": ["length", "length"]})
    run.run()
    resume(run, output_tokens_max=9000)
    asked = [event for event in run.events if event.kind == "generation_requested"]
    assert asked[2].tokens_max - asked[1].tokens_max > 9000 - 4096 - 1000


def test_it_parks_again_after_two_more():
    """Each resume gives one attempt and one that is told to be shorter."""
    run = world({"a": ["length"] * 4})
    run.run()
    resume(run)
    assert run.requested() == [f"a/v1.a{attempt}" for attempt in (1, 2, 3, 4)]
    assert len(parkings(run)) == 2
    assert resume(run).run.finished.outcome == "success"


def test_other_rejections_between_do_not_excuse_the_second():
    verdicts = iter([rejected("field.missing"), *[passed()] * 9])
    run = world({"b": ["length", "stop", "length"]}, judge=lambda r, _: passed() if r.step == "a" else next(verdicts))
    run.run()
    assert len(parkings(run)) == 1


def test_a_new_visit_counts_anew():
    """Two visits of `a` with one cut reply each are no reason to park."""
    verdicts = iter([rejected("plan.goal_unreachable"), *[passed()] * 9])
    steps = {"a": {"rmax": 2, "backtrack_budget": 1, "role": "strategy"}, "b": {"requires": ["a"], "role": "plan"}}
    script = {"a": ["length", "stop", "length", "stop"]}
    run = world(script, steps, judge=lambda r, _: passed() if r.step == "a" else next(verdicts))
    assert run.run().run.finished.outcome == "success"
    assert parkings(run) == []


def test_work_in_flight_is_finished_before_the_run_parks():
    """Analysis and recon are asked for side by side; the reply of the one is judged although the other is cut."""
    run = world({"g_analysis": ["length"] * 2}, SEEDS)
    run.begin()
    run.answer("g_analysis/v1.a1")
    run.answer("g_analysis/v1.a2")
    assert parkings(run) == []
    run.run()
    assert len(parkings(run)) == 1
    assert run.state.branches[0].progress["g_recon"].accepted == "g_recon/v1.a1"


def test_a_stop_that_comes_with_the_second_one_is_followed_by_the_parking_when_the_run_is_driven_next():
    """A person who only interrupted it has not seen why it cannot go on."""
    run = world({"a": ["length"] * 2})
    run.begin()
    run.answer("a/v1.a1")
    run.send(Parking(run.now))
    run.answer("a/v1.a2")
    assert len(parkings(run)) == 1
    resume(run)
    assert [parked.cause for parked in parkings(run)] == ["", "reply"]
    assert resume(run).run.finished.outcome == "success"


def test_another_branch_may_bring_the_plan_without_anybody():
    run = world({"a": ["length", "length"]}, search="best_of:2")
    assert run.run().run.finished.outcome == "success"
    assert parkings(run) == []


def test_the_next_prompt_asks_for_brevity_only_while_the_limit_is_what_it_was():
    run = world({"a": ["length"] * 4})
    run.run()
    assert "much shorter" in run.state.nodes["a/v1.a1"].rejection_text
    resume(run, output_tokens_max=9000)
    told = run.state.nodes["a/v1.a1"].rejection_text
    assert "9,000" in told
    assert "shorter" not in told
    assert "limit of 9,000 tokens" in run.state.nodes["a/v1.a3"].rejection_text
    assert "much shorter" in run.state.nodes["a/v1.a3"].rejection_text


def test_a_spent_budget_ends_the_run_before_another_attempt():
    run = world({"a": ["length"] * 2})
    run.limits = Limits(calls=2)
    run.run()
    assert resume(run).run.finished.outcome == "budget_exhausted"


def test_a_step_back_tells_of_cut_replies_once_and_of_other_rejections():
    """However many there were: the texts are the same, and would leave no room for the others."""
    judged = []

    def judge(request, _state):
        judged.append(request.node)
        wrong = request.node.startswith("b/") and not any(node.startswith("b/") for node in judged[:-1])
        return rejected("plan.goal_unreachable") if wrong else passed()

    run = world({"b": ["length"] * 3}, judge=judge)
    run.run()
    resume(run)
    assert run.state.run.finished.outcome == "success"
    revised = next(place for place, event in enumerate(run.events) if event.kind == "revised")
    before = fold(run.machine, run.events[: revised + 1])
    (entry,) = context_for(before, before.latest, "a").escalation
    assert entry.text.count("was cut off") == 1
    assert entry.text.count("plan.goal_unreachable") == 1
