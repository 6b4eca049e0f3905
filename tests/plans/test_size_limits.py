"""A plan over a limit of its size is refused before it is read, and one at the limit is not."""

import pytest

from actors.plans.reader import too_large

PLAN = {"plan_id": "p", "steps": [], "goal_state": []}


def lists(count, each=10_000):
    """Return steps with lists of `count` items in all."""
    full, rest = divmod(count, each)
    return [{"effects": ["t"] * each}] * full + [{"effects": ["t"] * rest}]


@pytest.mark.parametrize(
    ("most", "more", "where", "text"),
    [
        ({"steps": [0] * 20_000}, {"steps": [0] * 20_001}, "steps", "steps has 20,001 items; the limit is 20,000."),
        (
            {"invariants": [0] * 1_000},
            {"invariants": [0] * 1_001},
            "invariants",
            "invariants has 1,001 items; the limit is",
        ),
        (
            {"goal_state": ["t"] * 10_000},
            {"goal_state": ["t"] * 10_001},
            "goal_state",
            "has 10,001 items; the limit is 10,000",
        ),
        ({"goal_state": ["t" * 1_000]}, {"goal_state": ["t" * 1_001]}, "goal_state", "an item of 1,001 characters"),
        (
            {"steps": [{}, {"step_id": "s" * 1_000}]},
            {"steps": [{}, {"step_id": "s" * 1_001}]},
            *("steps[1].step_id", "steps[1].step_id has 1,001 characters; the limit is 1,000"),
        ),
        (
            {str(number): 0 for number in range(97)},
            {str(number): 0 for number in range(98)},
            *("", "the plan has 101 keys; the limit is 100"),
        ),
        (
            {"invariants": [{str(number): 0 for number in range(100)}]},
            {"invariants": [{str(number): 0 for number in range(101)}]},
            *("invariants[0]", "invariants[0] has 101 keys; the limit is 100"),
        ),
        (
            {"steps": lists(200_000)},
            {"steps": lists(200_001)},
            "",
            "the plan has 200,001 items in its lists; the limit is",
        ),
        ({"open_questions": [0] * 10_001}, {"other": [0] * 10_001}, "other", "other has 10,001 items"),
        ({"steps": [{"open": ["t"]}]}, {"steps": [{"steps": [0] * 10_001}]}, "steps[0].steps", "has 10,001 items"),
        ({"x" * 50: [0]}, {"x" * 50: [0] * 10_001}, "x" * 40, f"{'x' * 40} has 10,001 items"),
    ],
)
def test_a_part_over_its_limit_is_named_with_the_limit(most, more, where, text):
    assert too_large({**PLAN, **most}) is None
    found = too_large({**PLAN, **more})
    assert (found.code, found.where) == ("plan.too_large", where)
    assert text in found.message


@pytest.mark.parametrize("odd", [{"steps": 3}, {"invariants": None}, {"steps": [3, None]}, {"goal_state": [3]}])
def test_parts_of_another_type_are_left_to_the_reader(odd):
    assert too_large({**PLAN, **odd}) is None
