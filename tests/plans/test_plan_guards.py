"""What holds for all three plan guards: they are total, and blind to what carries no meaning."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.plans.plan import plan_to_json
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from runtime.models.replies import Parsed
from tests.plans.build import GUARDS, judge, plan, step
from tests.plans.strategies import plans, policies
from tests.plans.test_reader import JSON

LEVELS = list(GUARDS)


def verdicts(value):
    """Return the verdict of every guard on any value at all."""
    for module in GUARDS.values():
        artifact = Artifact("a1", "g_plan", "")
        artifact.__dict__["value"] = Parsed(value)
        yield module.make({"max_explorations": 500})(artifact, Context(""))


def consistent(found):
    """Check what the port promises about a verdict."""
    assert found.passed == (not found.errors)
    assert (found.score == 1.0) == found.passed
    assert Verdict.model_validate_json(found.model_dump_json()).errors == found.errors


@settings(max_examples=60)
@given(JSON)
def test_any_json_value_gets_a_verdict(value):
    """Nothing is raised."""
    for found in verdicts(value):
        consistent(found)


@settings(max_examples=60)
@given(st.dictionaries(st.sampled_from(sorted({*plan(), *step("a"), "invariants", "on_failure"})), JSON), JSON)
def test_any_value_in_any_field_gets_a_verdict(fields, other):
    """The same with values in the right places."""
    for value in (fields, plan(step("a") | fields, other), plan(step("a"), step("b")) | fields):
        for found in verdicts(value):
            consistent(found)


@settings(max_examples=40)
@given(st.text())
def test_any_text_gets_a_verdict(text):
    """Whatever a model writes."""
    for level in LEVELS:
        consistent(judge(level, text))


def gist(found):
    """Return all of a verdict but its words."""
    findings = [(one.code, one.where, one.severity, one.tokens, one.trace) for one in found.findings]
    return found.passed, found.score, findings, dict(found.facts)


@settings(max_examples=60, deadline=None)
@given(plans() | policies(), st.randoms(use_true_random=False))
def test_the_order_of_steps_and_of_tokens_changes_nothing(value, chance: random.Random):
    """Not the verdict, not the findings, not their order."""
    written = plan_to_json(value)
    mixed = json.loads(json.dumps(written))
    chance.shuffle(mixed["steps"])
    for one in (mixed, *mixed["steps"]):
        for field in one.values():
            if isinstance(field, list):
                chance.shuffle(field)
    mixed["invariants"] = written.get("invariants", [])
    for level in LEVELS:
        assert gist(judge(level, mixed)) == gist(judge(level, written))


def renamed(value, names):
    """Return the plan with its tokens renamed."""
    keys = {"preconditions", "effects", "delete_effects", "failure_effects", "failure_delete_effects"}
    keys |= {"initial_state", "goal_state", "when", "must", "must_not"}

    def visit(one, key=None):
        if isinstance(one, dict):
            return {name: visit(field, name) for name, field in one.items()}
        if isinstance(one, list):
            return [names[item] if key in keys else visit(item) for item in one]
        return one

    return visit(value)


@settings(max_examples=60, deadline=None)
@given(plans() | policies(), st.permutations(["d1", "ü b", "{a}", "a"]))
def test_the_names_of_tokens_change_nothing(value, names):
    """Not the verdict, nor which steps are named, nor the assurance; only how the tokens are spelt."""
    table = dict(zip("abcd", names, strict=True))
    written = plan_to_json(value)
    for level in LEVELS:
        before, after = judge(level, written), judge(level, renamed(written, table))
        assert (after.passed, after.score) == (before.passed, before.score)
        assert {(one.code, one.where) for one in after.findings} == {(one.code, one.where) for one in before.findings}
        assert after.facts | {"unmet": []} == before.facts | {"unmet": []}
        assert set(after.facts.get("unmet", ())) == {table[one] for one in before.facts.get("unmet", ())}


@settings(max_examples=40, deadline=None)
@given(plans() | policies())
def test_unused_tokens_in_the_initial_state_change_nothing(value):
    """Nobody asks for them."""
    written = plan_to_json(value)
    more = written | {"initial_state": [*written["initial_state"], "unused1", "unused2"]}
    for level in LEVELS:
        assert gist(judge(level, more)) == gist(judge(level, written))


@settings(max_examples=60, deadline=None)
@given(plans() | policies())
def test_each_level_accepts_no_more_than_the_one_below(value):
    """Expansive implies medium, which implies minimal; the score never rises with the level."""
    minimal, medium, expansive = (judge(level, plan_to_json(value)) for level in LEVELS)
    assert minimal.passed >= medium.passed >= expansive.passed
    assert minimal.score >= medium.score >= expansive.score
    for found in (minimal, medium, expansive):
        consistent(found)


@pytest.mark.parametrize("level", LEVELS)
def test_long_and_strange_names_make_short_and_printable_messages(level):
    """A message is one line, whatever a plan's names are."""
    name = "x\n\x1b[31m{brace}" + "é" * 5000
    found = judge(level, plan(step(name, name, name, after=name, on_failure=name), start=name, goal=name + "2"))
    assert found.findings
    for one in found.findings:
        assert one.message.isprintable()
        assert len(one.message) < 1500
