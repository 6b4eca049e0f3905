"""Branches in the machine: slices, pruning, what a branch knows of the others, and what people say to all of them."""

import json

from actors.planning.prompt_context import context_for
from actors.planning.strategy_view import free_calls, tree_of
from runtime.core.ledger import Limits
from runtime.core.machine import fold
from runtime.core.messages import Mailed
from tests.support.worlds import World, passed, pinned, rejected

CHAIN = {
    "recon": {"rmax": 2, "backtrack_budget": 1},
    "strategy": {"requires": ["recon"], "rmax": 2, "backtrack_budget": 1},
    "plan": {"requires": ["strategy"], "rmax": 2, "role": "plan"},
}


def world(search, judge=lambda *_: passed(), steps=CHAIN, calls=30):
    made = World(pinned(steps, search=search), judge=judge, limits=Limits(calls=calls))
    made.begin()
    return made


def tree(made):
    return tree_of(made.state, made.config.strategy)


def answer_all(made, *names):
    for name in names:
        made.answer(name)
        made.answer(f"judge:{name}")


def test_a_pruned_branch_frees_what_it_has_not_reserved_of_its_slice_and_nothing_else():
    """S9, S25: of a slice of five, one call is spent and one is open; three come free, the open one stays charged."""
    steps = {"recon": {"rmax": 1}, "facts": {"rmax": 1}, "plan": {"requires": ["recon", "facts"]}}
    judge = lambda request, _: rejected("plan.cycle") if request.node == "recon/v1.a1.b1" else passed()  # noqa: E731
    made = world("beam:4", judge, steps, calls=20)
    assert free_calls(tree(made), 5) == 0
    answer_all(made, "recon/v1.a1.b1")
    assert made.state.branches[1].pruned
    assert free_calls(tree(made), 5) == 3
    ledger = made.state.run.ledger
    assert (ledger.spent.calls, ledger.unknown.calls, len(ledger.reserved)) == (1, 1, 6)
    assert "facts/v1.a1.b1" not in made.machine.outstanding(made.state)


def test_a_new_branch_sees_why_the_attempts_of_its_parent_failed():
    """S33: what is known below a parent is known in a branch that is opened on it."""
    judge = lambda request, _: rejected("plugin.odd") if request.node == "plan/v1.a1" else passed()  # noqa: E731
    made = World(pinned(CHAIN, search="iterative_deepening:3"), judge=judge)
    made.begin()
    answer_all(made, "recon/v1.a1", "strategy/v1.a1", "plan/v1.a1")
    assert made.state.branch == 1
    context = context_for(made.state, made.state.latest, "plan")
    assert [feedback.node for feedback in context.retry] == ["plan/v1.a1"]
    assert list(context.dependencies) == ["strategy"]


def test_a_restart_knows_nothing_of_the_samples_before_it():
    """S9: or it would be no baseline."""
    judge = lambda request, _: passed() if ".b1" in request.node else rejected("plan.cycle")  # noqa: E731
    made = World(pinned(CHAIN, search="restart:2"), judge=judge)
    made.begin()
    answer_all(made, "recon/v1.a1", "recon/v1.a2")
    context = context_for(made.state, made.state.latest, "recon")
    assert made.state.branch == 1
    assert (context.retry, context.escalation) == ((), ())
    assert made.run().run.finished.outcome == "success"


def scored(scores):
    """Return a judge that passes plans with these scores, by node, and everything else fully."""
    return lambda request, _: passed().model_copy(update={"score": scores.get(request.node, 1.0)})


def test_the_best_plan_wins_and_not_the_first():
    """S9: a plan whose verdict is not the best possible is held until no other can be better."""
    made = world("best_of:2", scored({"plan/v1.a1": 0.6, "plan/v1.a1.b1": 0.8}))
    answer_all(made, "recon/v1.a1", "strategy/v1.a1", "plan/v1.a1")
    assert made.state.run.finished is None
    answer_all(made, "recon/v1.a1.b1", "strategy/v1.a1.b1", "plan/v1.a1.b1")
    assert (made.state.run.finished.outcome, made.state.run.finished.branch) == ("success", 1)


def test_a_plan_that_is_held_is_not_lost_when_the_calls_run_out():
    judge = scored({"plan/v1.a1": 0.6})
    made = world("best_of:2", lambda r, s: judge(r, s) if ".b1" not in r.node else rejected("plan.cycle"), calls=5)
    answer_all(made, "recon/v1.a1", "strategy/v1.a1", "plan/v1.a1", "recon/v1.a1.b1", "recon/v1.a2.b1")
    assert (made.state.run.finished.outcome, made.state.run.finished.branch) == ("success", 0)


def test_a_changed_requirement_sends_every_branch_back_in_one_new_round():
    made = world("beam:2")
    answer_all(made, "recon/v1.a1", "recon/v1.a1.b1")
    body = json.dumps({"kind": "requirement", "text": "in green"})
    before = len(made.events)
    made.send(Mailed(1, "requirement:1", body, made.now))
    revised = [event for event in made.events[before:] if event.kind == "revised"]
    assert [(event.branch, event.new_round) for event in revised] == [(None, True)]
    assert made.state.round == 2
    assert all(not slot.accepted for branch in made.state.branches for slot in branch.progress.values())
    assert made.run().run.finished.outcome == "success"
    assert fold(made.machine, made.events) == made.state
