"""A plan as a run returns it: typed, as the JSON object of its author, and as Markdown."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

import replan
from actors.plans.plan import Plan
from actors.plans.plan_text import plan_markdown, plan_summary, read_proved_plan
from tests.cli.samples import LOST, PLAN

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["plan_id", "goal", "steps", "initial_state", "goal_state", "invariants", "step_id", "guard"])


def test_a_proved_plan_is_typed_and_keeps_its_json():
    extra = {**PLAN, "note": "kept"}
    plan = read_proved_plan(extra)
    assert isinstance(plan, Plan)
    assert [step.step_id for step in plan.steps] == ["find", "ask", "fix"]
    assert plan.goal_state == frozenset({"fixed"})
    assert plan.to_dict() == extra
    assert plan == read_proved_plan(PLAN), "the typed fields are equal"
    assert plan != read_proved_plan(LOST)


def test_what_a_run_says_of_a_plan_is_no_part_of_it():
    said = read_proved_plan({**PLAN, "note": "kept"}, "Proved at level medium", ("in step fix: Mend it",))
    assert said == read_proved_plan(PLAN)
    assert [text for text in ("kept", "Proved at", "in step fix") if text in repr(said)] == []
    assert said.to_markdown() == plan_markdown(PLAN, "Proved at level medium.", said.demands)


def test_the_dictionary_of_a_plan_is_a_copy():
    plan = read_proved_plan(PLAN)
    plan.to_dict()["steps"].clear()
    assert len(plan.to_dict()["steps"]) == 3


def test_a_plan_as_markdown_is_what_export_writes():
    assert read_proved_plan(PLAN).to_markdown() == plan_markdown(PLAN)
    assert "## 3. Fix it" in read_proved_plan(PLAN).to_markdown()


@given(st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON, max_size=3), max_size=3)))
def test_any_object_that_a_guard_of_the_user_accepts_has_all_forms(value):
    plan = read_proved_plan(value)
    assert plan.to_dict() == value
    with suppress(replan.UsageProblem):  # It is no plan, and says so.
        assert plan.to_markdown().startswith("# ")


def test_a_typed_plan_can_be_checked():
    assert replan.check(read_proved_plan(PLAN), level="expansive").passed
    assert replan.check(Plan(**{name: getattr(read_proved_plan(PLAN), name) for name in Plan.__slots__})).passed
    assert not replan.check(read_proved_plan(LOST)).passed


def test_people_read_the_steps_in_the_order_in_which_the_author_lists_them():
    """Ties were broken by id, so that "apply" stood before the "bisect" whose result it needs."""
    step = {"generator": "x", "guard": "human", "retry_budget": 1}
    names = ("look", "bisect", "apply")
    steps = [{**step, "step_id": name, "dependencies": ["look"] if name != "look" else []} for name in names]
    plan = {"plan_id": "p", "goal": "g", "initial_state": ["a"], "goal_state": ["a"], "steps": steps}
    shown = [line.plain for line in plan_summary(plan)][1:]
    assert [row.split()[1] for row in shown] == list(names)
    moved = {**plan, "steps": steps[::-1]}  # What a step depends on comes first all the same.
    assert [row.plain.split()[1] for row in plan_summary(moved)][1:] == ["look", "apply", "bisect"]


def test_a_step_is_summed_up_by_its_id_its_name_its_guard_and_what_its_failure_means():
    base = {"generator": "x", "guard": "human", "retry_budget": 1}
    steps = [
        {**base, "step_id": "look", "name": "Look closely"},
        {**base, "step_id": "same", "name": "same", "guard": "tests", "on_failure": "continue"},
        {**base, "step_id": "back", "on_failure": "look"},
        {**base, "step_id": "sure", "on_failure": "never"},
    ]
    plan = {"plan_id": "p", "goal": "g", "initial_state": ["a"], "goal_state": ["a"], "steps": steps}
    assert [line.plain.rstrip() for line in plan_summary(plan)] == [
        "Plan p: g",
        "1. look  Look closely  [human]",
        "2. same  [tests]  if it fails: go on",
        "3. back  [human]  if it fails: back to look",
        "4. sure  [human]  cannot fail",
    ]
