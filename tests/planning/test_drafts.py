"""Which draft a run hands back that ended without a plan, and what the draft says of itself."""

import json
from dataclasses import replace

import pytest

from actors.planning.drafts import REMEDIES, remedy_of
from actors.planning.result import result_of
from actors.planning.result_lines import outcome_lines
from actors.run.result import RunView
from actors.values.findings import Code, Finding
from runtime.core.ledger import Limits, Price, Usage
from runtime.core.messages import Mailed
from runtime.models.port import Reply
from tests.cli.samples import DEMANDED, LOST, PROBLEM
from tests.support.worlds import World, passed, pinned, rejected, some_reply

STEPS = {"recon": {"rmax": 1, "role": "recon"}, "plan": {"requires": ["recon"], "rmax": 3, "role": "plan"}}


def written(request, state):
    """Return a plan that differs for each request of the plan step, and something else for the other steps."""
    reply = some_reply(request, state)
    if request.step != "plan":
        return reply
    return Reply(text=json.dumps({"plan_id": request.node, "steps": []}), usage=reply.usage, model="toy")


def long(request, state):
    """Return the reply of `written`, which has used many tokens."""
    return replace(written(request, state), usage=Usage(input_tokens=7_000, output_tokens=100))


def world_of(scores, *, author=written, steps=STEPS, codes=("plan.cycle",), limits=None, **keys):
    """Return a run; `scores` has those of its rejected plans, and every other attempt is accepted."""

    def judge(request, _):
        score = scores.get(request.node)
        if score is None:
            return passed()
        return rejected(*codes, where="fix").model_copy(update={"score": score})

    return World(pinned(steps, **keys), author=author, judge=judge, limits=limits or Limits(calls=30))


def result(world):
    """Return the result of a run as it stands."""
    return result_of(RunView("r1", "finished", world.state, world.state))


def report(world):
    """Return the lines of the report about a run, without their indents."""
    return [row.plain.strip() for row in outcome_lines(result(world))]


def cancel(world):
    world.send(Mailed(1, "cancel", '{"kind": "cancel"}', world.now))
    return result(world)


def ended(scores, **keys):
    """Return the result of a run that goes on until it has ended."""
    world = world_of(scores, **keys)
    world.run()
    return result(world)


def test_the_draft_is_the_rejected_plan_with_the_highest_score():
    result = ended({"plan/v1.a1": 0.2, "plan/v1.a2": 0.8, "plan/v1.a3": 0.4})
    assert (result.outcome, result.plan, result.draft.node) == ("backtrack_ceiling", None, "plan/v1.a2")
    assert (result.draft.score, result.draft.plan_json["plan_id"]) == (0.8, "plan/v1.a2")
    assert repr(result.draft) == "<Draft plan/v1.a2: not proved, 1 finding left>"


def test_of_equal_scores_the_latest_plan_is_the_draft():
    assert ended({"plan/v1.a1": 0.5, "plan/v1.a2": 0.5, "plan/v1.a3": 0.5}).draft.node == "plan/v1.a3"


LIMITS = {
    "calls": Limits(calls=2),
    "tokens": Limits(tokens=20_000),
    "money": Limits(micro_usd=200_000),
    "active time": Limits(active_seconds=2.5),
    "deadline": Limits(deadline=1_004.5),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_run_that_ends_at_a_limit_hands_back_its_draft(limit):
    price = Price(input_per_token_usd=1e-5, output_per_token_usd=1e-5)
    world = world_of({"plan/v1.a1": 0.5, "plan/v1.a2": 0.4}, author=long, limits=LIMITS[limit], price=price)
    world.run()
    found = result(world)
    assert (found.outcome, found.draft.node, found.plan) == ("budget_exhausted", "plan/v1.a1", None)


def test_a_run_that_repeats_its_plan_hands_it_back():
    def again(request, state):
        reply = some_reply(request, state)
        return Reply(text='{"steps": []}', usage=reply.usage, model="toy") if request.step == "plan" else reply

    found = ended({f"plan/v1.a{number}": 0.5 for number in range(1, 4)}, author=again)
    assert (found.outcome, found.draft.plan_json) == ("backtrack_ceiling", {"steps": []})


def test_a_plan_that_no_verdict_has_judged_is_the_draft_if_there_is_no_other():
    """The run is cancelled after the model has replied, and before a guard has judged the reply."""
    world = world_of({})
    world.begin()
    while not world.calls["plan"]:
        world.answer(world.doable()[0])
    found = cancel(world)
    assert (found.outcome, found.draft.summary) == ("cancelled", "not proved, not judged")
    assert (found.draft.to_json()["guard"], found.draft.to_json()["score"]) == ("", 0.0)


def test_a_plan_that_a_person_was_to_review_is_the_draft_of_a_cancelled_run():
    """The other guards have accepted it, which counts more than the score of a rejected plan."""
    guard = {"all_of": ["toy", "human_review"]}
    steps = {"plan": {"rmax": 3, "role": "plan", "guard": guard}}
    world = world_of({"plan/v1.a1": 0.9}, steps=steps)
    world.run()
    assert world.state.run.open_questions
    found = cancel(world)
    assert (found.draft.node, found.draft.summary) == ("plan/v1.a2", "not proved, no finding left")


def test_no_draft_without_a_written_plan_and_none_beside_a_proved_plan():
    assert ended({}).draft is None
    lost = {"plan/v1.a1": 0.5, "plan/v1.a2": 0.5, "plan/v1.a3": 0.5}
    unwritten = ended(lost, author=some_reply)
    assert (unwritten.outcome, unwritten.draft) == ("backtrack_ceiling", None)
    assert "draft" not in unwritten.to_json()
    assert ended({"recon/v1.a1": 0.5}).draft is None


def test_only_plans_of_the_last_step_that_wrote_one_are_drafts():
    """The accepted plan of an earlier step has the highest score, and is what the final plan improves."""
    steps = {"first": {"rmax": 1, "role": "plan"}, "plan": {"requires": ["first"], "rmax": 1, "role": "plan"}}

    def author(request, state):
        return Reply(
            text=json.dumps({"steps": [], "by": request.node}), usage=some_reply(request, state).usage, model="toy"
        )

    assert ended({"plan/v1.a1": 0.1}, author=author, steps=steps).draft.node == "plan/v1.a1"


def test_the_draft_as_data_says_not_proved_and_what_each_finding_takes():
    draft = ended({"plan/v1.a1": 0.5}, limits=Limits(calls=2)).to_json()["draft"]
    [finding] = draft["findings"]
    assert draft["proved"] is False
    assert (finding["code"], finding["where"]) == ("plan.cycle", "fix")
    assert finding["takes"] == "one dependency fewer in the cycle at fix"


def test_the_report_names_the_draft_s_findings_that_are_not_those_of_the_last_rejection():
    world = world_of({"plan/v1.a1": 0.8, "plan/v1.a2": 0.2}, limits=Limits(calls=3))
    judge = world.judge
    world.judge = lambda request, state: (
        rejected("plan.no_steps") if request.node == "plan/v1.a2" else judge(request, state)
    )
    world.run()
    rows = report(world)
    place = rows.index("Draft, not proved")
    assert "plan.no_steps: plan.no_steps is wrong" in rows[:place]
    assert rows[place + 1 : place + 4] == [
        "plan/v1.a1: not proved, 1 finding left.",
        "plan.cycle at fix: plan.cycle is wrong",
        "Needed: one dependency fewer in the cycle at fix.",
    ]


def test_the_report_names_the_demands_that_the_draft_ignores():
    def author(request, state):
        reply = some_reply(request, state)
        plan = {**LOST, "requirements": []}
        return reply if request.step != "plan" else replace(reply, text=json.dumps(plan))

    world = world_of({"plan/v1.a1": 0.5}, author=author, limits=Limits(calls=2))
    world.begin(PROBLEM)
    world.run()
    rows = report(world)
    assert "plan/v1.a1: not proved, 1 finding left; it covers 0 of 1 demand." in rows
    assert f"in no step: {DEMANDED}" in rows


def test_a_draft_is_checked_as_the_run_judged_it():
    """With other settings, `check` would accept a plan that was rejected for what follows a failure."""
    keys = {"assurance": "strong", "r_max": 9, "guard_catalog": ["mine"]}
    world = world_of({}, limits=Limits(calls=2), **keys)
    verdict = rejected("plan.dead_end").model_copy(update={"facts": {"level": "expansive"}})
    world.judge = lambda request, _: verdict if request.step == "plan" else passed()
    world.run()
    written, checked = result(world).draft.commands("r1", "replan")
    assert written == "replan export r1 --draft -o draft.json"
    assert checked == "replan check draft.json --level expansive --assurance strong --r-max 9 --guard mine"
    by_default = ended({"plan/v1.a1": 0.5}, limits=Limits(calls=2)).draft
    assert by_default.commands("r1", "replan")[1] == "replan check draft.json"


def test_every_error_of_a_plan_has_its_own_remedy():
    """Without one, the draft could only say: a change."""
    warnings = ("unknown_requirement", "unknown_key_step", "given_replaced", "set_by_program", "orphan_step")
    later = ("redundant_step", "assumption_broken")
    codes = {str(code) for code in Code if code.startswith("plan.")}
    assert codes - {f"plan.{name}" for name in (*warnings, *later)} <= set(REMEDIES)


def test_a_remedy_names_the_place_and_the_tokens():
    unmet = Finding(code=Code.GOAL_UNREACHABLE, message="", where="goal_state", tokens=("done", "told"))
    assert (
        remedy_of(unmet) == "a step that makes 'done', 'told' early enough, or a plan that does not need 'done', 'told'"
    )
    assert remedy_of(Finding(code="field.missing", message="", where="steps[1].guard")).endswith("at steps[1].guard")
    assert remedy_of(Finding(code="my.own", message="")) == "a change of the plan"
    assert remedy_of(Finding(code=Code.OPEN_QUESTION, message="?")) == "your answer to the question"
