"""What holds for all three plan guards: they are total, and independent of listing order and token names."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.plans.plan import plan_to_json
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from actors.values.format import printable
from runtime.models.replies import Parsed
from tests.plans.build import GUARDS, judge, plan, step
from tests.plans.strategies import plans, plans_with_outcomes, policies
from tests.plans.test_reader import JSON

LEVELS = list(GUARDS)


def verdicts(value):
    """Return the verdict of every guard on any value at all."""
    for module in GUARDS.values():
        artifact = Artifact("a1", "g_plan", "")
        artifact.__dict__["value"] = Parsed(value)
        yield module.make({"max_explorations": 500})(artifact, Context(""))


def consistent(verdict):
    """Check that a verdict is consistent and survives serialisation."""
    assert verdict.passed == (not verdict.errors)
    assert (verdict.score == 1.0) == verdict.passed
    assert Verdict.model_validate_json(verdict.model_dump_json()).errors == verdict.errors


@given(JSON)
def test_any_json_value_gets_a_verdict(value):
    for verdict in verdicts(value):
        consistent(verdict)


@given(st.dictionaries(st.sampled_from(sorted({*plan(), *step("a"), "invariants", "on_failure"})), JSON), JSON)
def test_any_value_in_any_field_gets_a_verdict(fields, other):
    for value in (fields, plan(step("a") | fields, other), plan(step("a"), step("b")) | fields):
        for verdict in verdicts(value):
            consistent(verdict)


@given(st.text())
def test_any_text_gets_a_verdict(text):
    for level in LEVELS:
        consistent(judge(level, text))


def gist(verdict):
    """Return everything in a verdict except the messages."""
    findings = [
        (finding.code, finding.where, finding.severity, finding.tokens, finding.trace) for finding in verdict.findings
    ]
    return verdict.passed, verdict.score, findings, dict(verdict.facts)


@given(plans() | policies() | plans_with_outcomes(), st.randoms(use_true_random=False))
def test_the_order_of_steps_and_of_tokens_changes_nothing(value, chance: random.Random):
    written = plan_to_json(value)
    mixed = json.loads(json.dumps(written))
    chance.shuffle(mixed["steps"])
    for container in (mixed, *mixed["steps"]):
        for field in container.values():
            if isinstance(field, list):
                chance.shuffle(field)
    mixed["invariants"] = written.get("invariants", [])
    for level in LEVELS:
        assert gist(judge(level, mixed)) == gist(judge(level, written))


def renamed(value, names):
    keys = {"preconditions", "effects", "delete_effects", "failure_effects", "failure_delete_effects"}
    keys |= {"initial_state", "goal_state", "when", "must", "must_not"}

    def visit(node, key=None):
        if isinstance(node, dict):
            return {name: visit(field, name) for name, field in node.items()}
        if isinstance(node, list):
            return [names[item] if key in keys else visit(item) for item in node]
        return node

    return visit(value)


@given(plans() | policies() | plans_with_outcomes(), st.permutations(["d1", "ü b", "{a}", "a"]))
def test_the_names_of_tokens_change_nothing(value, names):
    """Not the verdict, nor which steps are named, nor the assurance; only how the tokens are spelt."""
    table = dict(zip("abcd", names, strict=True))
    written = plan_to_json(value)
    for level in LEVELS:
        before, after = judge(level, written), judge(level, renamed(written, table))
        assert (after.passed, after.score) == (before.passed, before.score)
        assert {(finding.code, finding.where) for finding in after.findings} == {
            (finding.code, finding.where) for finding in before.findings
        }
        assert after.facts | {"unmet": []} == before.facts | {"unmet": []}
        assert set(after.facts.get("unmet", ())) == {table[token] for token in before.facts.get("unmet", ())}


@given(plans() | policies() | plans_with_outcomes())
def test_unused_tokens_in_the_initial_state_change_nothing(value):
    written = plan_to_json(value)
    more = written | {"initial_state": [*written["initial_state"], "unused1", "unused2"]}
    for level in LEVELS:
        assert gist(judge(level, more)) == gist(judge(level, written))


@given(plans() | policies() | plans_with_outcomes())
def test_each_level_accepts_no_more_than_the_one_below(value):
    """Expansive implies medium, which implies minimal; the score never rises with the level."""
    minimal, medium, expansive = (judge(level, plan_to_json(value)) for level in LEVELS)
    assert minimal.passed >= medium.passed >= expansive.passed
    assert minimal.score >= medium.score >= expansive.score
    for verdict in (minimal, medium, expansive):
        consistent(verdict)


@pytest.mark.parametrize("level", LEVELS)
def test_long_and_strange_names_make_short_and_printable_messages(level):
    name = "x\n\x1b[31m{brace}" + "é" * 5000
    verdict = judge(level, plan(step(name, name, name, after=name, on_failure=name), start=name, goal=name + "2"))
    assert verdict.findings
    for finding in verdict.findings:
        assert finding.message.isprintable()
        assert len(finding.message) < 1500


def test_a_message_shows_a_text_of_80_characters_whole_and_cuts_a_longer_one():
    assert printable("x" * 80) == "x" * 80
    assert printable("x" * 81) == "x" * 79 + "…"
