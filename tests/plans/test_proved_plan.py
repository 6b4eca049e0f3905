"""A plan as a run returns it: typed, as the JSON object of its author, and as Markdown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import replan
from actors.plans.plan import Plan
from actors.plans.proved_plan import proved_plan
from tests.cli.samples import LOST, PLAN

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["plan_id", "goal", "steps", "initial_state", "goal_state", "invariants", "step_id", "guard"])
MARKDOWN = """# The login works

Plan `p1`

- Start: `bug`
- Goal: `fixed`

1. **Find the cause** `find`
   - Needs: `bug`
   - Makes: `known`
   - Guard: `human`, 2 attempts
   - If it fails: go on without it, leaving unknown
2. **Ask somebody** `ask` (only after a failure)
   - After: `find`
   - Needs: `unknown`
   - Makes: `known`
   - Ends: `unknown`
   - Guard: `human`, 1 attempt
   - If it fails: hand over to a person or the replanner
3. **Fix it** `fix`
   - After: `find`
   - Needs: `known`
   - Makes: `fixed`
   - Guard: `syntax`, 2 attempts
   - If it fails: hand over to a person or the replanner
"""


def test_a_proved_plan_is_typed_and_keeps_its_json():
    extra = {**PLAN, "note": "kept"}
    plan = proved_plan(extra)
    assert isinstance(plan, Plan)
    assert [step.step_id for step in plan.steps] == ["find", "ask", "fix"]
    assert plan.goal_state == frozenset({"fixed"})
    assert plan.to_dict() == extra
    assert plan == proved_plan(PLAN), "the typed fields are equal"
    assert plan != proved_plan(LOST)


def test_the_dictionary_of_a_plan_is_a_copy():
    plan = proved_plan(PLAN)
    plan.to_dict()["steps"].clear()
    assert len(plan.to_dict()["steps"]) == 3


def test_a_plan_as_markdown_is_a_list_of_its_steps():
    assert proved_plan(PLAN).to_markdown() == MARKDOWN


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", r"\<script\>alert(1)\</script\>"),
        ("[here](http://example.org)", r"\[here\](http://example.org)"),
        ("two\n\n# lines", r"two \# lines"),
        ("`code` *bold* \x1b[31mred", r"\`code\` \*bold\* red"),
    ],
)
def test_text_of_the_author_is_no_markup(text, shown):
    """A name may quote a problem statement, and the Markdown may be posted as an issue."""
    step = {**PLAN["steps"][0], "name": text}
    assert f"**{shown}**" in proved_plan({**PLAN, "steps": [step]}).to_markdown()


def test_a_token_with_a_backtick_stays_one_code_span():
    shown = proved_plan({**PLAN, "goal_state": ["a`b"]}).to_markdown()
    assert "- Goal: `a'b`" in shown


@given(st.dictionaries(KEYS, JSON | st.lists(st.dictionaries(KEYS, JSON, max_size=3), max_size=3)))
def test_any_object_that_a_guard_of_the_user_accepts_has_all_forms(value):
    plan = proved_plan(value)
    assert plan.to_dict() == value
    assert plan.to_markdown().startswith("# ")


def test_a_typed_plan_can_be_checked():
    assert replan.check(proved_plan(PLAN), level="expansive").passed
    assert replan.check(Plan(**{name: getattr(proved_plan(PLAN), name) for name in Plan.__slots__})).passed
    assert not replan.check(proved_plan(LOST)).passed
