"""The shipped prompts: their examples pass the guards of the step, and they list every allowed value."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from actors.config.loader import load_workflow, shipped_workflows
from actors.config.step_guards import BUILT_IN
from actors.config.workflow import find_prompt_entry
from actors.guards.fields import (
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
from actors.guards.plan_settings import GUARD_CATALOG
from actors.plans.plan import RESERVED_IDS, UNDO
from actors.plans.reader import plan_schema
from actors.policy.table import CLASSIFIER, Cause, read_cause
from actors.prompting.book import load_prompts
from actors.prompting.render import PromptTemplate, render
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
    verdict = judged(entry, guard)
    assert verdict.findings == ()
    assert verdict.passed


@pytest.mark.parametrize("entry", SCHEMAS)
def test_the_example_fits_the_structured_output(entry):
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
    # Models are not asked for plans that undo.
    names("plan", [f'"{reserved}"' for reserved in RESERVED_IDS - {UNDO}])
    for entry, schema in SCHEMAS.items():
        names(entry, [f'"{key}"' for key in schema["properties"]])
        question = schema["properties"]["open_questions"]["items"]["properties"]
        names(entry, [f'"{word}"' for word in (*question, *question["type"]["enum"])])
    names("plan", [f'"{key}"' for key in plan_schema()["properties"]["steps"]["items"]["properties"]])


@pytest.mark.parametrize("name", ["strategy", *PLANS])
def test_the_prompts_name_the_whole_guard_catalogue(name):
    words = {word.strip(',.";') for word in BOOK.entries[name].constraints.split()}
    assert words >= GUARD_CATALOG
    (example,) = fenced("plan", "json")
    for guard in sorted(GUARD_CATALOG):
        plan = json.loads(example)
        plan["steps"][0]["guard"] = guard
        assert BUILT_IN["plan_minimal"]({})(Artifact("n", "plan", json.dumps(plan)), Context("x")).passed


def test_all_plan_prompts_have_the_same_constraints():
    assert len({BOOK.entries[name].constraints for name in PLANS}) == 1


def test_the_prompts_of_a_revision_say_what_the_guard_compares():
    """S136: the critic and the author know that an unchanged draft is rejected, and which lists are compared."""
    for name, text in (("critique", BOOK.entries["critique"].constraints), ("final", BOOK.entries["plan_final"].task)):
        words = " ".join(text.split())
        assert "equal" in words, name
        assert "unnecessary" in words, name


def test_the_classifier_prompt_lists_every_cause():
    """S22: the set of causes is closed, so the prompt lists all of them; its example is one."""
    constraints = BOOK.entries[CLASSIFIER].constraints
    assert [cause for cause in Cause if f'"{cause}":' not in constraints] == []
    [example] = fenced(CLASSIFIER, "json")
    assert read_cause(example) is Cause.MISSING_EVIDENCE


def test_entries_have_their_own_texts():
    """S134: no two entries share a role, a task or a wrapper, except the wrappers of two entries for whole plans."""
    entries = BOOK.entries
    assert set(entries) == {"analysis", "recon", "strategy", "critique", CLASSIFIER, *PLANS}
    for key, expected in (("role", 10), ("task", 10), ("feedback_wrapper", 9), ("escalation_feedback_wrapper", 9)):
        assert len({getattr(entry, key) for entry in entries.values()}) == expected


@pytest.mark.parametrize("name", shipped_workflows(ROOT))
def test_every_step_of_a_shipped_workflow_has_a_prompt_of_modest_size(name):
    """At most about 3,000 tokens of instructions, so that small context windows have room for the problem."""
    loaded = load_workflow(name, ROOT)
    for step in loaded.workflow.graph.order:
        if not loaded.workflow.is_deterministic(step):
            rendered = render(
                PromptTemplate(find_prompt_entry(loaded.prompts, loaded.workflow, step), loaded.prompts), Context("x")
            )
            assert rendered.byte_count < 12_000
