"""The tree says in one line what a belief policy went by, and `--json` has the same as numbers."""

from actors.planning.result_lines import search_tree
from actors.planning.story import attempts
from tests.support.worlds import World, passed, pinned, rejected

CHAIN = {
    "strategy": {"rmax": 2, "backtrack_budget": 1, "role": "strategy"},
    "plan": {"requires": ["strategy"], "rmax": 2, "role": "plan"},
}


def lines_of(tree):
    yield "".join(span.text for span in tree.line.spans)
    for child in tree.children:
        yield from lines_of(child)


def test_the_tree_and_its_json_say_what_a_decision_went_by():
    """Where the mistake is believed to lie before and after, then the chosen move and the next best."""
    judge = lambda request, _: passed() if request.node.startswith("strategy") else rejected("plan.goal_unreachable")  # noqa: E731
    made = World(pinned(CHAIN, policy="belief"), judge=judge)
    made.begin()
    for name in ("strategy/v1.a1", "plan/v1.a1", "plan/v1.a2"):
        made.answer(name)
        made.answer(f"judge:{name}")
    shown = attempts(made.state)
    tree = search_tree("title", shown)
    (line,) = [text for text in lines_of(tree) if "mistake" in text]
    decisions = [each.node.decision for each in shown if each.node.decision]
    assert [decision.rule for decision in decisions] == ["told", "belief"]
    weighing = decisions[-1].weighing
    places, options = weighing.places, weighing.options
    first = places[0]
    assert line.startswith(f"the mistake lies in strategy {first.before:.0%} -> {first.after:.0%}, unsolvable ")
    chances = [f"{one.value:.2%} ({one.chance:.1%} in {one.calls:g} call" for one in options]
    assert line.endswith(f"per call: redo strategy {chances[0]}s), next best redo afresh strategy {chances[1]}s)")
