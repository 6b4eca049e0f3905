"""Which draft a run hands back that ended without a plan, and what the draft says of itself."""

import json

from actors.planning.drafts import remedy_of
from actors.planning.result import result_of
from actors.run.result import RunView
from actors.values.findings import Code, Finding
from runtime.core.ledger import Limits
from runtime.models.port import Reply
from tests.support.worlds import World, passed, pinned, rejected, some_reply

STEPS = {"recon": {"rmax": 1, "role": "recon"}, "plan": {"requires": ["recon"], "rmax": 3, "role": "plan"}}


def written(request, state):
    """Return a plan that differs for each request of the plan step, and something else for the other steps."""
    reply = some_reply(request, state)
    if request.step != "plan":
        return reply
    return Reply(text=json.dumps({"plan_id": request.node, "steps": []}), usage=reply.usage, model="toy")


def ended(scores, *, author=written, steps=STEPS, codes=("plan.cycle",), calls=30):
    """Return the result of a run; `scores` has those of its rejected plans, and every other attempt is accepted."""

    def judge(request, _):
        score = scores.get(request.node)
        if score is None:
            return passed()
        return rejected(*codes, where="fix").model_copy(update={"score": score})

    state = World(pinned(steps), author=author, judge=judge, limits=Limits(calls=calls)).run()
    return result_of(RunView("r1", "finished", state, state))


def test_the_draft_is_the_rejected_plan_with_the_highest_score():
    result = ended({"plan/v1.a1": 0.2, "plan/v1.a2": 0.8, "plan/v1.a3": 0.4})
    assert (result.outcome, result.plan, result.draft.node) == ("backtrack_ceiling", None, "plan/v1.a2")
    assert (result.draft.score, result.draft.plan_json["plan_id"]) == (0.8, "plan/v1.a2")
    assert repr(result.draft) == "<Draft plan/v1.a2: not proved, 1 finding left>"


def test_of_equal_scores_the_latest_plan_is_the_draft():
    assert ended({"plan/v1.a1": 0.5, "plan/v1.a2": 0.5, "plan/v1.a3": 0.5}).draft.node == "plan/v1.a3"


def test_a_run_that_ends_at_a_limit_hands_back_its_draft():
    result = ended({"plan/v1.a1": 0.5}, calls=2)
    assert (result.outcome, result.draft.node) == ("budget_exhausted", "plan/v1.a1")


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
    draft = ended({"plan/v1.a1": 0.5}, calls=2).to_json()["draft"]
    [finding] = draft["findings"]
    assert draft["proved"] is False
    assert (finding["code"], finding["where"]) == ("plan.cycle", "fix")
    assert finding["takes"] == "one dependency less in the cycle at fix"


def test_a_remedy_names_the_place_and_the_tokens():
    unmet = Finding(code=Code.GOAL_UNREACHABLE, message="", where="goal_state", tokens=("done", "told"))
    assert remedy_of(unmet) == "a step that makes 'done', 'told' in time, or a plan that does not need it"
    assert remedy_of(Finding(code="field.missing", message="", where="steps[1].guard")).endswith("at steps[1].guard")
    assert remedy_of(Finding(code="my.own", message="")) == "a change of the plan"
    assert remedy_of(Finding(code=Code.OPEN_QUESTION, message="?")) == "your answer to the question"
