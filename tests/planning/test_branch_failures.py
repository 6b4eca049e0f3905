"""What the history of a branch keeps of a failure: that of this round, with its verdict."""

from actors.planning import evolve
from runtime.core.copies import changed
from tests.support.worlds import World, pinned, rejected


def test_a_failure_of_an_earlier_round_or_without_a_verdict_is_not_remembered():
    world = World(pinned({"g_plan": {"rmax": 2}}), judge=lambda *_: rejected("plan.cycle"))
    state = world.run()
    decision = next(event.decision for event in world.events if event.kind == "decided")
    node = state.nodes[decision.node]
    [past] = evolve._remember_failure(state, state.latest, node, decision)
    assert past.step == "g_plan"
    assert evolve._remember_failure(state, state.latest, changed(node, verdict=None), decision) == ()
    assert evolve._remember_failure(state, state.latest, changed(node, round=state.round + 1), decision) == ()
