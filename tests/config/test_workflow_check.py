"""A workflow is checked with everything that it names; an error has the line of the key."""

import pytest

from actors.config import loader
from actors.config.workflow_check import check_workflow
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from runtime.core.errors import UsageProblem

STEP = "action_pairs:\n  g_plan: {generator: model, guard: plan_medium}\n"


def check(path):
    known = registry()
    return check_workflow(str(path), data_root(), known.guards, known.generator_names)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("policy: defualt\n", ":2 policy: unknown policy 'defualt' (did you mean 'default'?)"),
        ("policy: none.yaml\n", ":2 policy: no such file '"),
        ("prompts: planing\n", ":2 prompts: unknown prompts 'planing' (did you mean 'planning'?)"),
        ("prompts: none.yaml\n", ":2 prompts: no such file '"),
    ],
)
def test_a_missing_file_is_reported_at_its_key(tmp_path, text, message):
    path = tmp_path / "w.yaml"
    path.write_text(f"name: w\n{text}{STEP}")
    with pytest.raises(UsageProblem) as caught:
        check(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_an_unknown_guard_is_reported_before_a_missing_prompt(tmp_path):
    path = tmp_path / "w.yaml"
    path.write_text("name: w\n" + STEP.replace("plan_medium", "plan_mediun"))
    with pytest.raises(UsageProblem, match=r":3 .*guard: unknown guard 'plan_mediun' \(did you mean 'plan_medium'"):
        check(path)


def test_a_policy_path_is_relative_to_the_workflow(tmp_path):
    path, rules = tmp_path / "w.yaml", tmp_path / "mine.yaml"
    path.write_text(f"name: w\npolicy: mine.yaml\n{STEP}")
    rules.write_text("name: mine\nrows:\n  - {id: rest, why: because, level: local_retry}\n")
    assert check(path)[1].name == "mine"
    rules.write_text("name: mine\nrows:\n  - {id: rest, level: local_retry}\n")
    with pytest.raises(UsageProblem) as caught:
        check(path)
    assert str(caught.value).startswith(f"{rules}:3 ")


def test_the_workflow_is_read_once(tmp_path, monkeypatch):
    path, files = tmp_path / "w.yaml", []
    path.write_text(f"name: w\n{STEP}")
    original = loader.read_document
    monkeypatch.setattr(loader, "read_document", lambda file: (files.append(file), original(file))[1])
    assert check(path)[0].workflow.name == "w"
    assert files.count(path) == 1
