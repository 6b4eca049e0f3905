"""An error in a template or table is one line with file and key."""

import re
import shutil

import pytest
import yaml

from actors.rules.parsed_request import facts_of
from actors.rules.slots import slots_of
from actors.rules.tables import FILLED_SLOTS, OPTIONAL_SLOTS
from actors.rules.template_files import load_templates
from runtime.core.errors import UsageProblem

from .author import PROBLEMS, RULES, TEMPLATES, read

NO_PHRASE = "should be lower-case text, with a * at its end or nowhere, not"


@pytest.fixture(scope="module")
def texts():
    """The text of each template."""
    return {stem: yaml.safe_dump(content) for stem, content in TEMPLATES.items()}


@pytest.fixture
def folder(tmp_path, texts):
    """A folder with a copy of all templates, to be damaged."""
    for stem, text in texts.items():
        (tmp_path / f"{stem}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def damage(folder, stem, change):
    """Change one file's content, and return the error message of loading it."""
    path = folder / f"{stem}.yaml"
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.raises(UsageProblem) as problem:
        load_templates(folder)
    return str(problem.value)


def step(step_id, /, **change):
    """Return a change of one step of a template."""

    def apply(content):
        next(item for item in content["steps"] if item["step_id"] == step_id).update(change)

    return apply


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (step("apply_fix", retry_budget=0), ["steps[", ".retry_budget", "should be at least 1, not 0"]),
        (step("apply_fix", retry_budgets=3), ["].retry_budgets: unknown key", "did you mean 'retry_budget'?"]),
        (step("apply_fix", guard="syntaks"), ["apply_fix", "guard", "did you mean 'syntax'"]),
        (step("apply_fix", dependencies=["write_failing_tests"]), ["apply_fix", "did you mean 'write_failing_test'"]),
        (step("apply_fix", dependencies=["review"]), ["apply_fix", "'review' is no earlier step"]),
        (step("verify_fix", on_failure="stress"), ["verify_fix", "on_failure"]),
        (step("review", on_failure="stress"), ["review", "not in every plan"]),
        (
            step("apply_fix", preconditions=["cause_knwon"]),
            ["apply_fix", "preconditions", "did you mean 'cause_known'"],
        ),
        (step("review", description=["See {tets}."]), ["review", "description[0]", "did you mean 'tests'"]),
        (step("review", name="Look at {tests}"), ["review", "name", "{tests} may be empty"]),
        (
            step("review", description=["See that {apis} work."]),
            ["review", "description[0]", "{apis} is part of a clause"],
        ),
        (
            step("review", description=["If {title}, look."]),
            ["review", "description[0]", "{title} is part of a clause"],
        ),
        (lambda content: content.update(goal="{title} is done"), ["goal", "{title} is part of a clause"]),
        (step("review", name="Look at {item}"), ["review", "name", "{item} may be empty"]),
        (step("review", failure_delete_effects=["x"]), ["review", "failure_delete_effects", "no step produces 'x'"]),
        (lambda content: content.update(goal_state=["fixed"]), ["goal_state", "no step produces 'fixed'"]),
        (step("stress", only_if="concurency"), ["stress", "did you mean 'concurrency'"]),
        (step("locate", for_each="suspect"), ["locate", "did you mean 'suspects'"]),
        (step("locate", step_id="reproduce"), ["reproduce", "the step id is taken"]),
        (step("locate", step_id="Locate it"), ["step_id: should be a lower-case letter, then"]),
        (lambda content: content.update(steps=[]), ["steps: needs at least one entry"]),
        (lambda content: content.pop("goal"), ["missing key 'goal'"]),
    ],
)
def test_an_error_in_a_template_names_file_and_key(folder, change, words):
    line = damage(folder, "bug_fix", change)
    assert "bug_fix.yaml" in line
    assert "\n" not in line
    assert [word for word in words if word not in line] == []


def test_a_strategy_of_an_unknown_kind_is_an_error(folder):
    assert " S1_locate_and_fix: 'x' has no template" in damage(
        folder, "strategies", lambda content: content["S1_locate_and_fix"].update(kinds=["x"])
    )


def first_key_step(strategies):
    return strategies["S1_locate_and_fix"]["key_steps"][0]


@pytest.mark.parametrize(
    ("stem", "change", "words"),
    [
        ("signals", lambda content: content["types"].pop("feature"), "types: has no signals for 'feature'"),
        ("signals", lambda content: content["types"]["feature"].update({"": 3}), f"types.feature.: {NO_PHRASE} ''"),
        ("signals", lambda content: content["severity"]["high"].append("Must"), f"{NO_PHRASE} 'Must'"),
        ("languages", lambda content: content["weights"].pop("file"), "weights: missing key 'file'"),
        ("phrases", lambda content: content["critique"].pop("fine"), "critique: has no sentence 'fine'"),
        ("feature", lambda content: content.update(kind="bug_fix"), "kind: must be 'feature'"),
        *(
            ("strategies", lambda content, changes=changes: first_key_step(content).update(changes), words)
            for changes, words in (
                ({"id": "fix"}, "key_steps[3].id: the id 'fix' is taken"),
                (
                    {"steps": ["reprodce"]},
                    "'reprodce' is a step of no template; did you mean 'reproduce'",
                ),
                ({"steps": ["stress"]}, "key_steps[0].steps: none of them is in every plan of the template 'bug_fix'"),
            )
        ),
    ],
)
def test_an_error_in_a_table_names_file_and_key(folder, stem, change, words):
    line = damage(folder, stem, change)
    assert words in line
    assert re.match(rf"\S*/{stem}\.yaml:[0-9]+ ", line)


def test_a_missing_file_is_an_error(folder):
    (folder / "performance.yaml").unlink()
    with pytest.raises(UsageProblem, match=r"performance\.yaml: is missing"):
        load_templates(folder)


def test_a_file_that_is_not_yaml_is_an_error(folder):
    (folder / "signals.yaml").write_text("types: {", encoding="utf-8")
    with pytest.raises(UsageProblem, match=r"signals\.yaml:1: not YAML"):
        load_templates(folder)
    (folder / "signals.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageProblem, match=r"signals\.yaml"):
        load_templates(folder)


def test_an_empty_folder_is_an_error(tmp_path):
    shutil.rmtree(tmp_path)
    with pytest.raises(UsageProblem, match="is missing"):
        load_templates(tmp_path)


@pytest.mark.parametrize("text", ["", *PROBLEMS.values()])
def test_every_declared_slot_has_a_value(text):
    request = read(text)
    slots = slots_of(request, facts_of(request), RULES)
    assert set(slots) == FILLED_SLOTS | OPTIONAL_SLOTS
    assert [name for name in FILLED_SLOTS if not slots[name]] == []


def test_every_kind_of_step_and_cue_is_used():
    """Some template uses each cue and each list."""
    steps = [step for template in RULES.templates.values() for step in template.steps]
    assert {step.only_if for step in steps} - {None, "investigate"} == set(RULES.signals.cues)
    assert {step.for_each for step in steps} - {None} == {
        "alternatives",
        "constraints",
        "goals",
        "moves",
        "suspects",
        "targets",
    }
