"""The move afresh: a new attempt whose prompt leaves out the rejected answers."""

import json

from actors.config.workflow import Workflow
from actors.planning.events import Decided
from actors.planning.kind import CODEC
from actors.planning.policy_as_plan import as_plan
from actors.planning.prompt_context import context_for, render_prompt
from actors.policy.table import BacktrackLevel, Policy, Row
from actors.search.graph import worst_case_calls
from runtime.models.port import Reply
from tests.support.worlds import World, default_policy, passed, pinned, rejected

CHAIN = {"top": {"rmax": 3, "backtrack_budget": 2}, "end": {"requires": ["top"], "rmax": 3}}
OTHERWISE = Row(id="otherwise", why="else", level=BacktrackLevel.LOCAL_RETRY)
BACK = Row(
    id="back",
    why="up",
    codes=("plan.goal_unreachable",),
    level=BacktrackLevel.PARTIAL_REPLAN,
    target="up 1",
    afresh=True,
)


def same_reply(request, _):
    """Return the same text for each attempt at a step."""
    return Reply(text=json.dumps({"by": request.step}), usage=None, model="toy")


def play(judge, *, policy=None, author=None, until=None, steps=CHAIN, **keys):
    """Return the world after its run, or when a request is open."""
    config = pinned(steps, **keys)
    config = config if policy is None else config.changed(policy=policy)
    world = World(config, judge=judge, **({} if author is None else {"author": author}))
    world.begin()
    while world.state.run.finished is None and until not in world.state.run.calls.open:
        world.answer(world.doable()[0])
    return world


def reject(step, *verdicts):
    """Return a judge that gives a step's attempts these verdicts in turn, and accepts everything else."""
    left = list(verdicts)
    return lambda request, _: left.pop(0) if request.step == step and left else passed()


def decisions(world):
    return [(event.node, event.rule, event.afresh) for event in world.events if isinstance(event, Decided)]


def prompt(world, step):
    return render_prompt(world.state, world.state.latest, step).user


def test_an_answer_that_comes_again_word_for_word_is_begun_afresh_before_the_third_call():
    """The prompt then shows no rejection, but the facts of the findings; a finding without a fact is left out."""
    judge = reject("end", rejected("plan.cycle", where="s1"), rejected("plan.cycle", "tool.broken", where="s2"))
    world = play(judge, author=same_reply, until="end/v1.a3")
    assert decisions(world) == [("end/v1.a1", "structure", False), ("end/v1.a2", "afresh", True)]
    text = prompt(world, "end")
    assert "[retries]" not in text
    assert "[repeats" not in text
    assert "[afresh]\n\n[afresh_findings]" in text
    assert "- s1: plan.cycle is wrong\n- s2: plan.cycle is wrong\n" in text
    assert "tool.broken" not in text
    assert [node.afresh for node in world.state.nodes.values()] == [False, False, False, True]


def test_after_a_fresh_attempt_only_what_came_since_is_shown():
    """A visit is begun afresh once; the next rejection is told as usual."""
    again = rejected("plan.cycle", where="s1")
    world = play(
        reject("end", again, again, rejected("plan.unbound", where="s7")),
        author=same_reply,
        until="end/v1.a4",
        steps=CHAIN | {"end": {"requires": ["top"], "rmax": 4}},
    )
    assert decisions(world)[-1] == ("end/v1.a3", "structure", False)
    context = context_for(world.state, world.state.latest, "end")
    assert [feedback.node for feedback in context.retry] == ["end/v1.a3"]
    assert context.afresh == ("- s1: plan.cycle is wrong",)


def test_a_policy_that_shows_nothing_asks_what_the_first_attempt_asked():
    policy = default_policy().model_copy(update={"afresh_shows": "nothing"})
    again = rejected("plan.cycle")
    world = play(reject("end", again, again), author=same_reply, policy=policy, until="end/v1.a3")
    requests = {event.request_id: event for event in world.events if event.kind == "generation_requested"}
    assert requests["end/v1.a3"].prompt_hash == requests["end/v1.a1"].prompt_hash
    assert requests["end/v1.a2"].prompt_hash != requests["end/v1.a1"].prompt_hash


def test_a_step_and_what_follows_from_it_are_begun_afresh_together():
    """No prompt of the redone steps shows a rejection of before; the step above still learns the fact."""
    policy = Policy(name="p", rows=(BACK, OTHERWISE))
    judge = reject("end", rejected("plan.unbound", where="s1"), rejected("plan.goal_unreachable", where="s2"))
    world = play(judge, policy=policy, until="end/v2.a1")
    assert decisions(world) == [("end/v1.a1", "otherwise", False), ("end/v1.a2", "back", True)]
    for step in CHAIN:
        assert "[retries]" not in prompt(world, step)
        assert "[escalations]" not in prompt(world, step)
    assert context_for(world.state, world.state.latest, "top").afresh == ("- s2: plan.goal_unreachable is wrong",)
    own = ("- s1: plan.unbound is wrong", "- s2: plan.goal_unreachable is wrong")
    assert context_for(world.state, world.state.latest, "end").afresh == own
    assert [name for name, node in world.state.nodes.items() if node.afresh] == ["top/v2.a1", "end/v2.a1"]


def test_a_branch_that_goes_back_in_place_of_its_parent_begins_afresh_too():
    policy = Policy(name="p", rows=(BACK, OTHERWISE))
    judge = reject("end", rejected("plan.goal_unreachable", where="s2"))
    world = play(
        judge,
        policy=policy,
        search="breadth_first:2",
        steps={"top": {"backtrack_budget": 2}, "end": {"requires": ["top"]}},
    )
    fresh = [node for node in world.state.nodes.values() if node.afresh]
    assert world.state.run.finished.outcome == "success"
    assert all(node.branch > 0 for node in fresh)


def test_a_move_afresh_uses_an_attempt_or_a_visit_like_any_other():
    """So the worst case, and the policy written as a plan, are the same with it and without."""
    config = pinned(CHAIN)
    plain = config.changed(policy=Policy(name="p", rows=(BACK.model_copy(update={"afresh": False}), OTHERWISE)))
    afresh = config.changed(policy=Policy(name="p", rows=(BACK, OTHERWISE)))
    assert as_plan(afresh) == as_plan(plain)
    never = play(
        lambda request, _: rejected("plan.goal_unreachable") if request.step == "end" else passed(),
        policy=afresh.policy,
    )
    assert never.state.run.ledger.committed.calls <= worst_case_calls(config.graph)


def test_a_decision_that_is_not_afresh_is_stored_as_before():
    """Histories and pinned policies of before say nothing of `afresh`, and mean what they meant."""
    event = Decided(node="end/v1.a1", rule="otherwise")
    assert b"afresh" not in CODEC.encode(event).body
    assert "afresh" not in Policy(name="p", rows=(OTHERWISE,)).model_dump_json()
    assert Workflow.model_fields.keys().isdisjoint({"afresh"})
