"""What the models `template:NAME` write: plans that every guard accepts, with the demands of the text as items."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import replan
from actors.config.loader import shipped_workflows
from actors.config.model_spec import TEMPLATE_NAMES
from actors.config.step_guards import BUILT_IN
from actors.guards.fields import PROBLEM_TYPES, STRATEGIES
from actors.templates.model import TemplateModel, write
from actors.templates.plan import QUESTIONS, REPETITIONS_MAX, lacking_names, read_request
from actors.templates.template_files import load_templates
from actors.values.artifacts import Artifact, Context
from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem
from runtime.models.port import Fault, ModelRequest

FOLDER = data_root() / "configs" / "templates"
TEMPLATES = load_templates(FOLDER)
TEXT = """\
# Orders are exported twice

See shop/export.py and tests/test_export.py.

- Each order must be exported once.
- The export must finish within 5 s.
- Do not change the format of the file.
"""
LEVELS = ("plan_minimal", "plan_medium", "plan_expansive")


def written(name, role="plan", text=TEXT, **material):
    return json.loads(write(role, {"role": role, "specification": text, **material}, name, TEMPLATES[name]))


def errors(plan, text=TEXT, levels=LEVELS):
    artifact = Artifact("a", "plan", json.dumps(plan))
    return [error for level in levels for error in BUILT_IN[level]({})(artifact, Context(text)).errors]


@pytest.mark.parametrize("name", TEMPLATE_NAMES)
@pytest.mark.parametrize("text", [TEXT, "The export is slow, and nobody knows why."])
def test_a_plan_of_each_template_is_accepted_at_every_level(name, text):
    """S131."""
    assert errors(written(name, text=text), text) == []


@pytest.mark.parametrize("name", TEMPLATE_NAMES)
@given(text=st.text(max_size=300))
def test_any_text_gives_a_plan_that_is_accepted(name, text):
    long = f"{text} and a few more words so that nobody asks"
    assert errors(written(name, text=long), long, ["plan_medium"]) == []


@pytest.mark.parametrize("name", TEMPLATE_NAMES)
def test_every_demand_is_in_a_step_and_the_files_are_named(name):
    plan = written(name)
    satisfied = {one for step in plan["steps"] for one in step.get("satisfies", ())}
    planned = {item["id"] for item in plan["requirements"] if item["kind"] in {"goal", "must_avoid", "must_keep"}}
    assert satisfied >= planned != set()
    assert all(item["tokens"] for item in plan["requirements"] if item["kind"] == "goal")
    assert "shop/export.py" in json.dumps(plan["steps"])
    assert plan["basis"].startswith("This plan has the shipped steps of ")


def test_templates_and_their_strategies_have_the_names_that_guards_know():
    assert tuple(TEMPLATES[name].kind for name in TEMPLATE_NAMES) == PROBLEM_TYPES
    assert {template.strategy.id for template in TEMPLATES.values()} <= {*STRATEGIES}


def test_many_demands_share_the_repetitions_of_a_step():
    text = "\n".join(["# The export", "", *(f"- It must write the field number {n}." for n in range(40))])
    plan = written("feature", text=text)
    parts = [step for step in plan["steps"] if step["step_id"].startswith("build_part")]
    assert len(parts) == REPETITIONS_MAX
    assert sum(len(step["satisfies"]) for step in parts) == len(plan["requirements"]) == 40
    assert errors(plan, text) == []


@pytest.mark.parametrize("workflow", shipped_workflows(data_root()))
@pytest.mark.parametrize("name", ["bug", "decide"])
def test_a_template_serves_each_shipped_workflow(name, workflow):
    result = replan.solve(TEXT, workflow=workflow, model=f"template:{name}", home=replan.MEMORY)
    assert result.outcome == "success"


def test_a_short_text_is_asked_about_twice_and_then_not_understood():
    asked = []
    for question in QUESTIONS:
        analysis = written("bug", "analysis", "Fix it.", clarifications=asked)
        assert [each["question"] for each in analysis["open_questions"]] == [question]
        asked.append({"question": question, "answer": ""})
    assert written("bug", "analysis", "Fix it.", clarifications=asked).keys() == {"open_questions", "not_understood"}
    answered = [{"question": QUESTIONS[0], "answer": "The export loses its last row when it is long."}]
    plan = written("bug", text="Fix it.", clarifications=answered)
    assert plan["goal"].startswith("The export loses its last row when it is long. ")


def test_strong_assurance_goes_back_nowhere():
    plan = written("bug", settings={"assurance": "strong"})
    assert {step["on_failure"] for step in plan["steps"]} == {"escalate"}
    assert errors(plan) == []


def test_the_budget_of_retries_is_kept():
    plan = written("feature", settings={"r_max": 15})
    assert sum(step["retry_budget"] for step in plan["steps"]) <= plan["total_retry_budget"] == 15


def test_steps_that_no_tool_does_are_left_out_and_what_is_needed_is_named():
    tools = {"generators": ["tester", "coder"], "guards": ["test_fails", "dynamic_test", "all_tests_pass"]}
    assert lacking_names(TEMPLATES["bug"], tools) == ("syntax",)
    plan = written("bug", given=tools)
    assert [step["step_id"] for step in plan["steps"]] == [
        *("reproduce", "write_failing_test", "apply_fix", "verify_fix", "run_regression"),
    ]
    assert errors(plan) == []


def test_a_strategy_is_followed_step_by_step():
    strategy = written("bug", "strategy", dependencies={"analysis": {}})
    keys = {step["id"] for step in strategy["key_steps"]}
    plan = written("bug", dependencies={"analysis": {}, "strategy": strategy})
    assert {one for step in plan["steps"] for one in step.get("implements", ())} == keys


def test_a_critique_names_the_demands_that_a_draft_leaves_out():
    draft = written("bug")
    assert written("bug", "critique", dependencies={"plan": draft})["overall_assessment"] == "good"
    for step in draft["steps"]:
        step.pop("satisfies", None)
    critique = written("bug", "critique", dependencies={"plan": draft})
    assert critique["overall_assessment"] == "needs_revision"
    assert any("format of the file" in text for text in critique["missing_steps"])
    final = written("bug", dependencies={"plan": draft, "critique": critique})
    assert "First answer the critique: " in final["steps"][-1]["description"]


def test_a_longer_text_costs_no_more_than_what_is_read_of_it():
    request = read_request({"specification": "a\n" * 500_000})
    assert len(request.title) <= 80
    assert request.requirements == ()


async def test_an_unknown_role_is_a_bad_request():
    model = TemplateModel("bug", TEMPLATES["bug"])
    role = {"role": "acquisition_plan"}
    request = ModelRequest("x", "step", "", "", timeout_seconds=1, output_tokens_max=1, material=role)
    reply = await model.complete(request)
    assert isinstance(reply, Fault)
    assert "a template cannot write for the role 'acquisition_plan'" in reply.message


def test_a_step_that_refers_to_no_earlier_step_is_refused_with_its_place(tmp_path):
    for name in TEMPLATE_NAMES:
        (tmp_path / f"{name}.yaml").write_text((FOLDER / f"{name}.yaml").read_text())
    path = Path(tmp_path / "bug.yaml")
    path.write_text(path.read_text().replace("after: [reproduce]", "after: [revue]"))
    with pytest.raises(UsageProblem, match=r"bug\.yaml:\d+ steps\[1\]\.after: no earlier step has the id 'revue'"):
        load_templates(tmp_path)
