"""`follows_critique` (S136): what it rejects, what it only warns about, and that it is total."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.config.step_guards import BUILT_IN, make_step_guard
from actors.guards.critique import make_follows_critique
from actors.guards.fields import CRITIQUE_LISTS
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code
from runtime.core.errors import UsageProblem
from tests.support.artifacts import plan
from tests.support.worlds import pinned

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
ROLES = {"g_draft": "plan", "g_critique": "critique", "g_final": "plan"}
DRAFT = plan()
FIRST, *_, LAST = (step["step_id"] for step in DRAFT["steps"])


def critique(assessment="needs_revision", **lists):
    return {
        "overall_assessment": assessment,
        "problem_type_match": "yes",
        **{key: lists.get(key, []) for key in CRITIQUE_LISTS},
    }


def judge(final, remarks, draft=DRAFT, roles=ROLES):
    """Return the verdict on a final plan; a critique or draft that is None is not among the dependencies."""
    values = {"g_draft": draft, "g_critique": remarks}
    accepted = {step: artifact(step, value) for step, value in values.items() if value is not None}
    context = Context("the problem", dependencies=accepted, settings={"roles": roles})
    return make_follows_critique({})(artifact("g_final", final), context)


def artifact(step, value):
    content = value if isinstance(value, str) else json.dumps(value)
    return Artifact(artifact_id=step, step=step, content=content)


def findings_of(verdict):
    """Return the verdict's findings as (code, where, severity)."""
    return [(finding.code, finding.where, finding.severity) for finding in verdict.findings]


def changed(**keys):
    """Return the draft with these fields changed in its last step."""
    copy = json.loads(json.dumps(DRAFT))
    copy["steps"][-1] |= keys
    return copy


@pytest.mark.parametrize("key", CRITIQUE_LISTS)
@pytest.mark.parametrize("assessment", ["needs_revision", "fundamentally_flawed"])
def test_a_plan_that_is_its_draft_ignores_the_critique(key, assessment):
    """S136: the plan is rejected under whatever heading the critique has its remarks."""
    verdict = judge(DRAFT, critique(assessment, **{key: ["something about a test"]}))
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert findings_of(verdict) == [(Code.CRITIQUE_IGNORED, "", "error")]
    assert assessment in verdict.findings[0].message
    assert verdict.findings[0].message.endswith("; make the changes that the critique asks for")


def test_a_draft_that_was_called_good_may_stay():
    verdict = judge(DRAFT, critique("good", specific_suggestions=["nothing"]))
    assert (verdict.passed, verdict.score, verdict.findings) == (True, 1.0, ())


def test_another_spelling_of_the_draft_is_the_draft():
    """A new name, another order of steps and explicit defaults do not change what a plan means."""
    same = {**DRAFT, "plan_id": "another-name", "steps": list(reversed(DRAFT["steps"])), "invariants": []}
    same["steps"] = [{**step, "repeatable": False, "delete_effects": []} for step in same["steps"]]
    assert findings_of(judge(same, critique())) == [(Code.CRITIQUE_IGNORED, "", "error")]


@pytest.mark.parametrize("change", [lambda text: f" {text}  ", str.upper, lambda text: text.replace(" ", "\n\t")])
def test_white_space_and_case_make_no_other_plan(change):
    """S136: a plan that differs from a condemned draft by blanks or capitals ignores the critique."""
    same = {**DRAFT, "steps": [{**step, "name": change(step["name"])} for step in DRAFT["steps"]]}
    assert findings_of(judge(same, critique())) == [(Code.CRITIQUE_IGNORED, "", "error")]


def test_a_change_of_words_only_is_a_warning():
    """S136: nothing that is carried out or checked differs; nothing measures how alike the words are."""
    verdict = judge(changed(name="Something else entirely", description="In other words."), critique())
    assert verdict.passed
    assert findings_of(verdict) == [(Code.CRITIQUE_NEARLY_IGNORED, "", "warning")]
    assert judge(changed(name="Something else"), critique("good", specific_suggestions=["nothing"])).findings == ()


@pytest.mark.parametrize("keys", [{"guard": "human"}, {"description": "In other words."}, {"retry_budget": 7}])
def test_any_change_of_substance_passes(keys):
    """The guard cannot know whether the change is the right one."""
    assert judge(changed(**keys), critique(missing_steps=["a test"])).passed


def test_an_unnecessary_step_that_stayed_is_a_warning():
    remarks = critique(unnecessary_steps=[f"{LAST}: nobody asked for it"])
    kept = judge(changed(retry_budget=3), remarks)
    assert kept.passed
    assert findings_of(kept) == [(Code.CRITIQUE_UNHEEDED, LAST, "warning")]
    removed = changed()
    removed["steps"].pop()
    assert judge(removed, remarks).findings == ()


def test_a_guard_that_was_named_and_stayed_is_a_warning():
    remarks = critique(guard_appropriateness=[f"`{LAST}` is not checked by this guard."])
    assert findings_of(judge(changed(retry_budget=3), remarks)) == [(Code.CRITIQUE_UNHEEDED, LAST, "warning")]
    assert judge(changed(guard="merge_ready"), remarks).findings == ()


def test_only_whole_ids_of_the_draft_count_as_named():
    remarks = critique(
        unnecessary_steps=[f"x{FIRST}, {FIRST}_more and no_such_step", 3], guard_appropriateness="no list"
    )
    assert judge(changed(retry_budget=3), remarks).findings == ()


@pytest.mark.parametrize(
    ("remarks", "draft", "roles", "word"),
    [
        (None, DRAFT, ROLES, "critique"),
        (critique(), None, ROLES, "draft"),
        ("no JSON", DRAFT, ROLES, "critique"),
        (["a list"], DRAFT, ROLES, "critique"),
        (critique(), DRAFT, {}, "critique"),
    ],
)
def test_a_missing_critique_or_draft_is_a_warning(remarks, draft, roles, word):
    verdict = judge(DRAFT, remarks, draft, roles)
    assert verdict.passed
    assert findings_of(verdict) == [(Code.NOT_COMPARED, "", "warning")]
    assert word in verdict.findings[0].message


def test_an_unreadable_plan_does_not_pass():
    verdict = judge("no JSON", critique())
    assert not verdict.passed
    assert findings_of(verdict) == [("reply.not_json", "", "error")]


@given(JSON, JSON, JSON)
def test_any_values_get_a_verdict(final, remarks, draft):
    verdict = judge(json.dumps(final), json.dumps(remarks), json.dumps(draft))
    assert verdict.passed == (not verdict.errors)


def test_it_has_no_settings():
    with pytest.raises(UsageProblem, match="follows_critique: x: unknown setting"):
        make_follows_critique({"x": 1})


def test_a_composite_with_a_plan_guard_has_one_verdict():
    """As in the shipped workflows: a valid plan that ignores its critique is rejected in the name of this guard."""
    final = {"guard": {"all_of": ["plan_medium", "follows_critique"]}, "requires": ["g_draft", "g_critique"]}
    steps = {"g_draft": {}, "g_critique": {"requires": ["g_draft"]}, "g_final": final}
    guard = make_step_guard(pinned(steps).workflow, "g_final", BUILT_IN)
    accepted = {"g_draft": artifact("g_draft", DRAFT), "g_critique": artifact("g_critique", critique())}
    context = Context("the problem", dependencies=accepted, settings={"roles": ROLES})
    verdict = guard(artifact("g_final", DRAFT), context)
    assert (verdict.passed, verdict.guard) == (False, "follows_critique")
    assert [part.passed for part in verdict.parts] == [True, False]
