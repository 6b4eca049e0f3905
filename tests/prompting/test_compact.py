"""The shorter texts of the shipped prompts: they fit a small context window, and ask for the same artifacts."""

import json
import re

import jsonschema
import pytest

from actors.config.loader import load_policy, load_workflow
from actors.config.step_guards import BUILT_IN
from actors.planning.config import RunConfig
from actors.plans.reader import plan_schema
from actors.prompting.book import PromptEntry
from actors.values.artifacts import Artifact, Context
from actors.values.model_settings import ModelSettings
from tests.prompting.test_planning import BOOK, PLANS, ROOT, fenced

BYTES_MAX = 4_200
"""The limit of bytes in a prompt without the problem: about 1,200 tokens of SmolLM2 at 3.4 bytes (issue 30)."""


def shown(name):
    return BOOK.entries[name].shown(compact=True)


@pytest.mark.parametrize("name", BOOK.entries)
def test_every_shipped_prompt_is_short_enough_for_a_small_window(name):
    entry, sections = shown(name), BOOK.sections
    parts = (entry.role, entry.constraints, sections.data_note, sections.specification, sections.task, entry.task)
    assert len("\n\n".join(parts).encode()) <= BYTES_MAX


@pytest.mark.parametrize("guard", ["plan_minimal", "plan_medium", "plan_expansive", "requirements_covered"])
@pytest.mark.parametrize("name", PLANS)
def test_the_example_passes_the_same_guards_without_a_finding(name, guard):
    (example,) = re.findall(r"```json\n(.*?)\n```", shown(name).constraints, re.DOTALL)
    (problem,) = fenced("recon", "text")
    verdict = BUILT_IN[guard]({})(Artifact("n", name, example), Context(problem))
    assert (verdict.passed, verdict.findings) == (True, ())
    jsonschema.validate(json.loads(example), plan_schema())


@pytest.mark.parametrize("name", PLANS)
def test_the_shorter_texts_name_every_field(name):
    schema = plan_schema()
    keys = [*schema["properties"], *schema["properties"]["steps"]["items"]["properties"]]
    assert [key for key in keys if f'"{key}"' not in shown(name).constraints] == []


def test_an_entry_without_shorter_texts_is_shown_as_it_is():
    entry = BOOK.entries["analysis"]
    assert entry.compact is None
    assert entry.shown(compact=True) is entry
    assert BOOK.entries["plan"].shown(compact=False) is BOOK.entries["plan"]
    texts = dict.fromkeys(("role", "constraints", "task"), "x")
    wrapped = PromptEntry(**texts, feedback_wrapper="{feedback}", escalation_feedback_wrapper="{feedback}")
    assert "compact" not in wrapped.model_dump(), "a pinned entry of an earlier run is the same"


def test_a_step_with_the_setting_has_the_shorter_prompt_and_the_others_have_not():
    loaded = load_workflow("search", ROOT)
    settings = {"g_plan": ModelSettings(compact=True)}
    config = RunConfig(
        workflow=loaded.workflow,
        policy=load_policy("default", ROOT),
        prompts=loaded.prompts,
        model="test",
        model_settings=settings,
    )
    assert config.steps["g_plan"].prompt.entry.constraints == BOOK.entries["plan"].compact.constraints
    assert config.steps["g_strategy"].prompt.entry == BOOK.entries["strategy"]
