"""The tree says in sentences what a belief policy went by."""

import pytest

from actors.planning.result_lines import belief_text, search_tree
from actors.planning.story import attempts
from actors.policy.belief_choice import MistakePlace, Option, Weighing
from actors.values.format import format_chance
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
    """Where the mistake most likely is, then the cost and the chance of the chosen move, and the next best."""
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
    place, (best, following) = weighing.places[0], weighing.options
    assert place.step == "strategy"
    assert line == (
        f"The mistake is most likely in the strategy ({format_chance(place.after)}). "
        f"A new strategy costs {best.calls:g} calls, with a chance of {format_chance(best.chance)}. "
        f"Next best: a new strategy (the next prompt does not show the earlier answers) "
        f"({following.calls:g} calls, {format_chance(following.chance)})."
    )


@pytest.mark.parametrize(
    ("place", "options", "text"),
    [
        (
            "g_plan",
            [{"move": "retry", "calls": 1, "chance": 0.25}],
            "The mistake is most likely in the plan (2 in 5). Another attempt costs 1 call, with a chance of 1 in 4.",
        ),
        (
            "unsolvable",
            [
                {"move": "redo", "targets": ("g_analysis", "g_recon"), "calls": 4, "chance": 0.1},
                {"move": "ask", "calls": 2.5, "chance": 0.004},
            ],
            (
                "Most likely the problem has no solution (2 in 5). A new analysis and a new recon cost 4 calls, "
                "with a chance of 1 in 10. Next best: a question to you (2.5 calls, under 1 in 200)."
            ),
        ),
        ("g_plan", [], "The mistake is most likely in the plan (2 in 5). No move is left."),
    ],
)
def test_a_belief_is_told_in_words(place, options, text):
    weighed = tuple(Option(**option, value=0.1) for option in options)
    assert belief_text(Weighing(places=(MistakePlace(step=place, before=0.3, after=0.41),), options=weighed)) == text
