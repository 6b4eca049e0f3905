"""Prompts files need every text, with each slot once; code has no defaults for missing texts."""

import json
from pathlib import Path

import pytest

from actors.config.workflow import Workflow, find_prompt_entry
from actors.prompting.book import load_prompts
from runtime.core.errors import UsageProblem

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "prompts" / "planning.yaml"
TEXTS = {
    "role": "r",
    "constraints": "c",
    "task": "t",
    "feedback_wrapper": "again: {feedback}",
    "escalation_feedback_wrapper": "later: {feedback}",
}


def write(folder: Path, value: object, name: str = "prompts.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value, indent=1))
    return path


def problem(path: Path, shared: Path = SHARED) -> str:
    with pytest.raises(UsageProblem) as caught:
        load_prompts(path, shared)
    return str(caught.value).removeprefix(f"{path.parent}/")


def test_a_file_in_the_seeds_format_loads_unchanged(tmp_path):
    book, notices = load_prompts(write(tmp_path, {"$schema": "x", "g_plan": TEXTS}), SHARED)
    assert book.entries["g_plan"].model_dump() == TEXTS
    assert book.sections == load_prompts(SHARED, SHARED)[0].sections
    assert notices == ()


@pytest.mark.parametrize("key", TEXTS)
def test_an_entry_without_one_of_its_texts_is_refused(tmp_path, key):
    """S100, S101: a wrapper is required too."""
    texts = {other: text for other, text in TEXTS.items() if other != key}
    message = f":2 g_plan: missing key {key!r} (add `{key}: ...`)"
    assert problem(write(tmp_path, {"g_plan": texts}, "own.yaml")) == f"own.yaml{message}"
    if key != "escalation_feedback_wrapper":
        assert problem(write(tmp_path, {"g_plan": texts})) == f"prompts.json{message}"


def test_an_older_file_takes_the_shipped_escalation_wrapper_with_a_notice(tmp_path):
    texts = {key: text for key, text in TEXTS.items() if key != "escalation_feedback_wrapper"}
    book, notices = load_prompts(write(tmp_path, {"g_plan": texts}), SHARED)
    shipped = load_prompts(SHARED, SHARED)[0].entries.values()
    assert book.entries["g_plan"].escalation_feedback_wrapper == next(iter(shipped)).escalation_feedback_wrapper
    assert len(notices) == 1
    assert "it has no escalation_feedback_wrapper, so the shipped one is used" in notices[0]


@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_text_is_refused(tmp_path, key, text):
    path = write(tmp_path, {"g_plan": TEXTS | {key: text}})
    assert problem(path).endswith(f" g_plan.{key}: this text is empty")


def test_an_entry_that_is_a_single_text_is_ignored_in_json_only(tmp_path):
    """Also if the file has no other entry, since a workflow may use the shipped prompts."""
    texts = {"g_plan": "Write a plan."}
    book, notices = load_prompts(write(tmp_path, texts), SHARED)
    assert not book.entries
    assert [notice.partition("prompts.json")[2] for notice in notices] == [
        ":2 g_plan: ignored, because an entry must have a role, constraints and a task"
    ]
    assert problem(write(tmp_path, texts, "own.yaml")).startswith("own.yaml:2 g_plan: should be a mapping")


@pytest.mark.parametrize("key", ["feedback_wrapper", "escalation_feedback_wrapper"])
@pytest.mark.parametrize(("text", "found"), [("no slot", 0), ("{feedback} and {feedback}", 2), ("{ feedback }", 0)])
def test_a_wrapper_has_exactly_one_slot(tmp_path, key, text, found):
    path = write(tmp_path, {"g_plan": TEXTS | {key: text}})
    assert problem(path).endswith(
        f" g_plan.{key}: the text must contain {{feedback}} once, but contains it {found} times"
    )


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ({}, "prompts.json:1: there is no prompt entry in this file"),
        ({"$schema": "x"}, "prompts.json:1: there is no prompt entry in this file"),
        ({"g": 3}, "prompts.json:2 g: should be a mapping of keys to values, not 3"),
        ({"g": TEXTS | {"role": 3}}, "prompts.json:3 g.role: should be text, not 3"),
        (
            {"g": TEXTS | {"feedback_wraper": "x"}},
            "prompts.json:8 g.feedback_wraper: unknown key 'feedback_wraper' (did you mean 'feedback_wrapper'?)",
        ),
        (
            {"sections": {}, "g": TEXTS},
            "prompts.json:2 sections: missing key 'data_note' (add `data_note: ...`; 17 more problems in this file)",
        ),
        ({"sections": 3, "g": TEXTS}, "prompts.json:2 sections: should be a mapping of keys to values, not 3"),
    ],
)
def test_each_mistake_is_one_line(tmp_path, value, line):
    assert problem(write(tmp_path, value)) == line


def test_shared_sections_are_required(tmp_path):
    path = write(tmp_path, {"g": TEXTS})
    assert problem(path, path) == "prompts.json: missing key 'sections'"
    assert problem(path, tmp_path / "no.yaml") == "no.yaml: no such file (name an existing file)"


def test_a_section_without_its_slot_is_refused(tmp_path):
    sections = load_prompts(SHARED, SHARED)[0].sections.model_dump()
    for key, slot in (("retry", "number"), ("dependency", "step"), ("data_open", "mark"), ("cut", "bytes")):
        path = write(tmp_path, {"sections": sections | {key: "no slot"}, "g": TEXTS})
        assert problem(path).endswith(f"sections.{key}: the text must contain {{{slot}}} once, but contains it 0 times")


def test_foreign_slots_are_literal_with_a_notice(tmp_path):
    path = write(tmp_path, {"g": TEXTS | {"task": "Solve {specification} with {ap_analysis} and {x}."}})
    book, notices = load_prompts(path, SHARED)
    assert book.entries["g"].task == "Solve {specification} with {ap_analysis} and {x}."
    assert [notice.partition(": ")[2] for notice in notices] == [
        "{specification} is left unchanged, because only the wrappers have slots",
        "{ap_analysis} is left unchanged, because only the wrappers have slots",
    ]


def workflow(**more: object) -> Workflow:
    pair = {"generator": "g", "guard": "plan_medium"} | more
    return Workflow.model_validate({"name": "w", "action_pairs": {"g_plan": pair}})


def test_an_entry_is_found_by_name_then_step_then_role(tmp_path):
    names = ("special", "g_plan", "plan")
    entries = {name: TEXTS | {"role": name} for name in names}
    for known in (names, names[1:], names[2:]):
        book, _ = load_prompts(write(tmp_path, {name: entries[name] for name in known}), SHARED)
        named = workflow(prompt="special") if "special" in known else workflow()
        assert find_prompt_entry(book, named, "g_plan").role == known[0]


def test_a_named_entry_has_no_fallback(tmp_path):
    """A misspelt `prompt:` is an error; the role's prompt is not used instead."""
    book, _ = load_prompts(write(tmp_path, {"plan": TEXTS}), SHARED)
    with pytest.raises(
        UsageProblem, match=r"^action_pairs.g_plan: the prompts have no entry 'plam' \(did you mean 'plan'\?\)$"
    ):
        find_prompt_entry(book, workflow(prompt="plam"), "g_plan")
    with pytest.raises(UsageProblem, match="the prompts have no entry 'g_plan' or 'critic'"):
        find_prompt_entry(book, workflow(role="critic"), "g_plan")
