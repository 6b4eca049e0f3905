"""The shipped prompts: their examples pass the guards that will judge the answers, and they name what is allowed."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from actors.config.loader import load_workflow, shipped_workflows
from actors.config.step_prompts import entry_for
from actors.guards.built_in import BUILT_IN
from actors.guards.plan_settings import GUARD_CATALOG
from actors.guards.shapes import (
    ANALYSIS_SCHEMA,
    ASSESSMENTS,
    CRITIQUE_LISTS,
    CRITIQUE_SCHEMA,
    PROBLEM_TYPES,
    RECON_LISTS,
    RECON_SCHEMA,
    STRATEGIES,
    STRATEGY_SCHEMA,
)
from actors.plans.plan import RESERVED_IDS
from actors.plans.schema import plan_schema
from actors.policy.cause import CLASSIFIER, Cause, read_cause
from actors.prompting.book import load_prompts
from actors.prompting.render import render
from actors.values.artifacts import Artifact, Context

ROOT = Path(__file__).resolve().parents[2]
PLANNING = ROOT / "prompts" / "planning.yaml"
BOOK, _ = load_prompts(PLANNING, PLANNING)
SCHEMAS = {
    "analysis": ANALYSIS_SCHEMA,
    "recon": RECON_SCHEMA,
    "strategy": STRATEGY_SCHEMA,
    "critique": CRITIQUE_SCHEMA,
    "plan": plan_schema(),
}
PLANS = ("plan", "plan_direct", "plan_draft", "plan_final", "plan_refine")
JUDGES = [
    ("analysis", "analysis_valid"),
    ("recon", "recon_valid"),
    ("strategy", "strategy_valid"),
    ("critique", "critique_valid"),
    ("plan", "plan_minimal"),
    ("plan", "plan_medium"),
    ("plan", "plan_expansive"),
]


def fenced(entry: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", BOOK.entries[entry].constraints, re.DOTALL)


def judged(entry: str, guard: str):
    (example,) = fenced(entry, "json")
    (problem,) = fenced("recon", "text")
    return BUILT_IN[guard]({})(Artifact("n", entry, example), Context(problem))


@pytest.mark.parametrize(("entry", "guard"), JUDGES)
def test_the_example_passes_without_a_finding(entry, guard):
    """Not even a warning: a model copies what it is shown."""
    verdict = judged(entry, guard)
    assert verdict.findings == ()
    assert verdict.passed


@pytest.mark.parametrize("entry", SCHEMAS)
def test_the_example_fits_the_structured_output(entry):
    """What is shown and what a server enforces are one shape."""
    (example,) = fenced(entry, "json")
    jsonschema.validate(json.loads(example), SCHEMAS[entry])


def test_the_example_plan_is_contingent_and_proved():
    verdict = judged("plan", "plan_expansive")
    assert verdict.facts["assurance"] == "strong_cyclic"
    (example,) = fenced("plan", "json")
    assert {step["on_failure"] for step in json.loads(example)["steps"]} == {"continue", "escalate", "fix"}


def test_the_prompts_name_every_allowed_value():
    def names(entry: str, values) -> None:
        missing = [value for value in values if value not in BOOK.entries[entry].constraints]
        assert missing == []

    names("analysis", PROBLEM_TYPES)
    names("recon", RECON_LISTS)
    names("strategy", STRATEGIES)
    names("critique", [*ASSESSMENTS, *CRITIQUE_LISTS])
    names("plan", [f'"{reserved}"' for reserved in RESERVED_IDS])
    for entry, schema in SCHEMAS.items():
        names(entry, [f'"{key}"' for key in schema["properties"]])
        question = schema["properties"]["open_questions"]["items"]["properties"]
        names(entry, [f'"{word}"' for word in (*question, *question["type"]["enum"])])
    names("plan", [f'"{key}"' for key in plan_schema()["properties"]["steps"]["items"]["properties"]])


@pytest.mark.parametrize("name", ["strategy", *PLANS])
def test_the_prompts_name_the_whole_guard_catalogue(name):
    """All of them, and a step with any of them passes."""
    named = {word.strip(',.";') for word in BOOK.entries[name].constraints.split()}
    assert named >= GUARD_CATALOG
    (example,) = fenced("plan", "json")
    for guard in sorted(GUARD_CATALOG):
        plan = json.loads(example)
        plan["steps"][0]["guard"] = guard
        assert BUILT_IN["plan_minimal"]({})(Artifact("n", "plan", json.dumps(plan)), Context("x")).passed


def test_all_that_ask_for_plans_say_alike_what_a_plan_is():
    assert len({BOOK.entries[name].constraints for name in PLANS}) == 1


def test_who_revises_is_told_what_the_guard_compares():
    """S136: reviewer and author both know that a draft handed in again is rejected, and which lists are looked at."""
    for name, text in (("critique", BOOK.entries["critique"].constraints), ("final", BOOK.entries["plan_final"].task)):
        words = " ".join(text.split())
        assert "equal" in words, name
        assert "unnecessary" in words, name


def test_the_classifier_is_told_every_code_and_its_example_is_one():
    """S22: the set is closed, so the prompt has to name all of it."""
    told = BOOK.entries[CLASSIFIER].constraints
    assert [cause for cause in Cause if f'"{cause}":' not in told] == []
    [example] = fenced(CLASSIFIER, "json")
    assert read_cause(example) is Cause.MISSING_EVIDENCE


def test_each_step_speaks_for_itself():
    """S134: no two entries share a role, a task or a wrapper, except the two that write a whole plan their wrappers."""
    entries = BOOK.entries
    assert set(entries) == {"analysis", "recon", "strategy", "critique", CLASSIFIER, *PLANS}
    for key, expected in (("role", 10), ("task", 10), ("feedback_wrapper", 9), ("escalation_feedback_wrapper", 9)):
        assert len({getattr(entry, key) for entry in entries.values()}) == expected


@pytest.mark.parametrize("name", shipped_workflows(ROOT))
def test_every_step_of_a_shipped_workflow_has_a_prompt_of_modest_size(name):
    """About 3,000 tokens of instructions at most, so that small windows have room for the problem."""
    loaded = load_workflow(name, ROOT)
    for step in loaded.workflow.order():
        if not loaded.workflow.is_deterministic(step):
            rendered = render(entry_for(loaded.prompts, loaded.workflow, step), loaded.prompts, Context("x"))
            assert rendered.byte_count < 12_000
