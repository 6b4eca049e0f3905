"""Writes the critique of a draft plan: facts of the text that the draft omits, and what the guard of plans finds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from actors.guards import plan_medium
from actors.guards.fields import folded
from actors.rules.decision import DECISION
from actors.rules.parsed_request import ParsedRequest, facts_of, template_kind
from actors.rules.slots import KEPT, sources, texts_of
from actors.rules.tables import RulesTables
from actors.rules.text import lower, words
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding

TEST_GUARDS = frozenset({"dynamic_test", "all_tests_pass"})
PERSON_GUARDS = frozenset({"human", "merge_ready"})
NAMED_MAX = 5
"""Files, and tests, of the text that a plan should name."""
POINTS_MAX = 12
"""Items of one list of the critique."""
_LISTS: Mapping[str, str] = {
    "plan.orphan_step": "unnecessary",
    "plan.unknown_guard": "guards",
    "plan.duplicate_id": "ordering",
    "plan.unknown_dependency": "ordering",
    "plan.cycle": "ordering",
    "plan.precondition_unsatisfied": "ordering",
}
"""Where a finding of the guard stands; any other is a suggestion."""


def critique_artifact(request: ParsedRequest, rules: RulesTables) -> dict[str, Any]:
    """Return the critique of the draft among the request's dependencies."""
    phrases = rules.phrases.critique
    kind = template_kind(request, rules)
    draft = request.dependency("plan")
    raw = draft.get("steps")
    steps = [step for step in raw if isinstance(step, Mapping)] if isinstance(raw, list) else []
    if not steps:
        match = phrases["match_no"].replace("{kind}", rules.phrases.kind(kind)).replace("{steps}", "no steps")
        return _artifact("fundamentally_flawed", match, suggestions=[phrases["not_a_plan"]])
    matches = _matches(steps, kind, rules)
    lists = {
        "missing": list(_missing(request, steps, rules)),
        "unnecessary": [],
        "ordering": [],
        "guards": [],
        "suggestions": [],
    }
    for finding in _findings(request, draft):
        lists[_LISTS.get(finding.code, "suggestions")].append(finding.message)
    if all(step.get("on_failure", "escalate") == "escalate" for step in steps):
        lists["suggestions"].append(phrases["no_recovery"].replace("{step}", _id(steps[0])))
    if not matches:
        assessment = "fundamentally_flawed"
    elif any(lists.values()):
        assessment = "needs_revision"
    else:
        assessment, lists["suggestions"] = "good", [phrases["fine"]]
    ids = ", ".join(_id(step) for step in steps[:POINTS_MAX])
    match = phrases["match_yes" if matches else "match_no"]
    return _artifact(assessment, match.replace("{kind}", rules.phrases.kind(kind)).replace("{steps}", ids), **lists)


def _artifact(assessment: str, match: str, **lists: list[str]) -> dict[str, Any]:
    return {
        "overall_assessment": assessment,
        "problem_type_match": match,
        "missing_steps": lists.get("missing", [])[:POINTS_MAX],
        "unnecessary_steps": lists.get("unnecessary", [])[:POINTS_MAX],
        "ordering_issues": lists.get("ordering", [])[:POINTS_MAX],
        "guard_appropriateness": lists.get("guards", [])[:POINTS_MAX],
        "specific_suggestions": lists.get("suggestions", [])[:POINTS_MAX],
        "open_questions": [],
    }


def _matches(steps: list[Mapping[str, Any]], kind: str, rules: RulesTables) -> bool:
    """Return whether some step fits this kind of problem: it has a word that only this kind's template uses."""
    vocabulary = {
        name: {word for step in template.steps for word in step.step_id.split("_")}
        for name, template in rules.templates.items()
    }
    others = {word for name, vocabulary_words in vocabulary.items() if name != kind for word in vocabulary_words}
    used = {part for step in steps for word in words(f"{_id(step)} {step.get('name')}") for part in word.split("_")}
    return bool(used & (vocabulary[kind] - others)) or any(lower(kind) in _id(step) for step in steps)


def _missing(request: ParsedRequest, steps: list[Mapping[str, Any]], rules: RulesTables) -> Iterator[str]:
    phrases = rules.phrases.critique
    facts = facts_of(request)
    plan_text = folded(" ".join(f"{_id(step)} {step.get('name')} {step.get('description')}" for step in steps))
    expected = {"file": sources(facts, rules)[:NAMED_MAX], "test": facts.tests[:NAMED_MAX]}
    for what, items in expected.items():
        for item in items:
            if item not in plan_text:
                yield phrases["unnamed"].replace("{what}", what).replace("{item}", item)
    for item in texts_of(request, KEPT):
        if item not in plan_text:
            yield phrases["no_constraint_step"].replace("{item}", item)
    guards = {step.get("guard") for step in steps if isinstance(step.get("guard"), str)}
    if not guards & TEST_GUARDS and template_kind(request, rules) != DECISION:
        yield phrases["no_test_step"]
    if not guards & PERSON_GUARDS:
        yield phrases["no_review_step"]


def _findings(request: ParsedRequest, draft: Mapping[str, Any]) -> Sequence[Finding]:
    """Return what the guard `plan_medium` finds in the draft."""
    guard = plan_medium.make({"guard_catalog": sorted(request.catalogue), "r_max": request.r_max})
    content = orjson.dumps(draft).decode()
    return guard(Artifact(artifact_id="draft", step="plan", content=content), Context(specification="")).findings


def _id(step: Mapping[str, Any]) -> str:
    return str(step.get("step_id", ""))
