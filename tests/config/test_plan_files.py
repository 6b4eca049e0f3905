"""The plan files of a template selector are read when the workflow is loaded; an error is one line."""

import json
from pathlib import Path

import pytest

from actors.config.loader import load_workflow
from actors.config.plan_files import read_settings
from actors.config.workflow import Workflow
from runtime.core.errors import UsageProblem
from tests.support.artifacts import plan

ROOT = Path(__file__).resolve().parents[2]
START = (
    "name: mine\naction_pairs:\n"
    "  g_analysis: {generator: LLMJsonGenerator, guard: analysis_valid}\n"
    "  g_template:\n    generator: TemplateSelectorGenerator\n    guard: plan_minimal\n    requires: [g_analysis]\n"
)


@pytest.fixture
def mine(tmp_path):

    def write(config):
        path = tmp_path / "mine.yaml"
        path.write_text(f"{START}    generator_config: {json.dumps(config)}\n")
        return str(path)

    return write


def problem(path):
    with pytest.raises(UsageProblem) as caught:
        load_workflow(path, ROOT)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_plan_file_is_read_beside_the_workflow_and_pinned(mine, tmp_path, monkeypatch):
    (tmp_path / "plans").mkdir()
    for name in ("a.json", "b.yaml"):  # JSON is YAML
        (tmp_path / "plans" / name).write_text(json.dumps(plan()))
    path = mine({"templates": {"bug_fix": "plans/a.json", "feature": "plans/b.yaml"}})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    loaded = load_workflow(path, ROOT)
    assert loaded.workflow.action_pairs["g_template"].generator_config == {
        "templates": {"bug_fix": plan(), "feature": plan()}
    }
    assert Workflow.model_validate_json(loaded.workflow.model_dump_json()) == loaded.workflow
    before = loaded.workflow
    (tmp_path / "plans" / "a.json").write_text(json.dumps(plan(plan_id="other")))
    assert load_workflow(path, ROOT).workflow != before


def test_a_plan_may_be_inline(mine):
    path = mine({"templates": {"bug_fix": plan()}})
    config = load_workflow(path, ROOT).workflow.action_pairs["g_template"].generator_config
    assert config == {"templates": {"bug_fix": plan()}}


def test_other_generators_keep_their_settings(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(
        START.replace("TemplateSelectorGenerator", "mine\n    generator_config: {templates: 3}\n    prompt: plan")
    )
    assert load_workflow(str(path), ROOT).workflow.action_pairs["g_template"].generator_config == {"templates": 3}


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ({"template": {}}, "template: unknown setting 'template' (did you mean 'templates'?)"),
        ({"plan_source": "a"}, "plan_source: unknown setting 'plan_source' (settings: plan, templates)"),
        ({"plan": 3}, "plan: should be the path of a plan file, not 3"),
        ({"templates": ["a"]}, "templates: should be a mapping of problem types to plan files, not ['a']"),
        ({"templates": {"bug_fix": 3}}, "templates.bug_fix: should be the path of a plan file, not 3"),
        ({"templates": {"bug_fix": " "}}, "templates.bug_fix: should be the path of a plan file, not ' '"),
        (
            {"templates": {"bug_fix": {"plan_id": "p"}}},
            "templates.bug_fix: steps: The plan has no steps; give a list of step objects under 'steps'",
        ),
    ],
)
def test_a_wrong_setting_is_an_error_with_its_place(mine, config, line):
    path = mine(config)
    assert problem(path) == f"{path}:8 action_pairs.g_template.generator_config.{line}"


def test_a_missing_plan_file_is_an_error_at_its_key(mine, tmp_path):
    path = mine({"templates": {"bug_fix": "plans/no.json"}})
    place = f"{path}:8 action_pairs.g_template.generator_config.templates.bug_fix"
    missing = tmp_path / "plans" / "no.json"
    hint = "remove the entry to use the shipped template"
    assert problem(path) == f"{place}: {missing}: no such file ({hint})"


def test_an_invalid_plan_file_is_an_error(mine, tmp_path):
    """S131: a user's plan files are checked when the workflow is loaded, not when a run uses them."""
    path, file = mine({"templates": {"bug_fix": "own.json"}}), tmp_path / "own.json"
    broken = plan()
    broken["steps"][1]["retry_budget"] = "3"
    file.write_text(json.dumps(broken))
    cause = "steps[1].retry_budget must be a whole number without quotes, not the string '3'"
    assert problem(path) == f"{file} steps[1].retry_budget: {cause}"
    file.write_text("{")
    assert problem(path).startswith(f"{path}:8 action_pairs.g_template.generator_config.templates.bug_fix: {file}:1: ")


def test_inline_plans_are_kept():
    """A resumed run has the plans in its journal, and needs no file."""

    def fail(cause, keys, hint):
        raise AssertionError((cause, keys, hint))

    settings = {"templates": {"bug_fix": plan()}, "plan": plan(plan_id="other")}
    assert read_settings(settings, Path("nowhere"), fail) == settings
    assert read_settings({}, Path("nowhere"), fail) == {}
