"""The Python API: imports, types, results, records, questions, plug-ins and errors."""

import inspect
import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import trio.lowlevel

import replan
from tests.cli.samples import ANALYSIS, ASKING, BACKTRACKS, LOST, PLAN, PROBLEM, distinct

ROOT = Path(__file__).resolve().parents[2]


def test_the_public_names_are_sorted_and_defined():
    order = sorted(replan.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert order == replan.__all__
    assert dir(replan) == sorted(order)
    assert all(getattr(replan, name) is not None for name in replan.__all__)
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        _ = replan.slove


def test_the_import_loads_no_heavy_module():
    code = "import sys, replan; print([m for m in ('trio','pydantic','openai','rich','structlog') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_solve_returns_what_the_command_line_prints(scripted):
    result = replan.solve(PROBLEM, model=scripted(BACKTRACKS), home=replan.MEMORY)
    assert result.succeeded
    assert (result.plan_json, result.calls, result.revision) == (PLAN, 9, 1)
    assert json.loads(json.dumps(result.to_json()))["outcome"] == "success"


def test_a_run_has_the_tenant_and_the_priority_of_the_keywords(scripted, tmp_path):
    home = tmp_path / "home"
    done = replan.solve(PROBLEM, model=scripted(BACKTRACKS), home=home, tenant="research", priority=-7)
    admitted = replan.admit("planning", PROBLEM, model="template:bug", home=home, tenant="sales")
    rows = {row.run_id: row.to_dict() for row in replan.runs(home=home)}
    assert (rows[done.run_id]["tenant"], rows[done.run_id]["priority"]) == ("research", -7)
    assert rows[admitted]["tenant"] == "sales"


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("tenant", "Two words"), ("tenant", None), ("tenant", 3), ("priority", 101), ("priority", "high")],
)
def test_a_wrong_tenant_or_priority_names_the_keyword(tmp_path, keyword, value):
    with pytest.raises(replan.UsageProblem) as caught:
        replan.solve(PROBLEM, model="template:bug", home=tmp_path / "home", **{keyword: value})
    assert caught.value.place == keyword
    assert not (tmp_path / "home").exists()


def test_a_run_is_stored_in_its_home(scripted, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from replan.cli.app import app

    result = replan.solve(PROBLEM, model=scripted({"g_plan": [PLAN]}), workflow="single", home=tmp_path / "home")
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    shown = CliRunner().invoke(app, ["show", result.run_id, "--json"])
    assert json.loads(shown.stdout) == json.loads(json.dumps(result.to_json()))


def test_a_run_that_has_ended_is_deleted(tmp_path):
    result = replan.solve(PROBLEM, model="template:bug", home=tmp_path / "home")
    replan.delete(result.run_id, home=tmp_path / "home")
    assert replan.runs(home=tmp_path / "home") == ()


def test_bad_input_is_a_usage_problem_and_writes_nothing(tmp_path):
    for arguments in ({"workflow": "serch"}, {"max_calls": 0}, {"model": "scripted:missing.yaml"}, {"search": "wide"}):
        with pytest.raises(replan.UsageProblem):
            replan.solve(PROBLEM, **{"model": "template:bug", "home": tmp_path / "home"} | arguments)
    with pytest.raises(replan.UsageProblem, match="empty"):
        replan.solve(" ", model="template:bug", home=tmp_path / "home")


@pytest.mark.parametrize("key", ["g_plna", "g_plna/v1.a1"])
def test_a_script_for_an_unknown_step_is_refused_before_the_run(tmp_path, key):
    script = tmp_path / "script.yaml"
    script.write_text(f"g_plan: [one]\n{key}: [two]\n")
    with pytest.raises(replan.UsageProblem) as caught:
        replan.solve(PROBLEM, model=f"scripted:{script}", workflow="single", home=tmp_path / "home")
    message = f"{script}:2 {key}: the workflow has no step 'g_plna' (did you mean 'g_plan'?)"
    assert str(caught.value) == message
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("name", ["max_calls", "max_tokens", "max_cost", "deadline", "active_time"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 1e300, "5", True])
def test_an_invalid_limit_is_refused_with_its_keyword(tmp_path, name, value):
    with pytest.raises(replan.UsageProblem) as caught:
        replan.solve(PROBLEM, model="template:bug", home=tmp_path / "home", **{name: value})
    assert caught.value.place == name
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("name", ["max_calls", "max_tokens"])
def test_limits_on_calls_and_tokens_are_whole_numbers(name):
    with pytest.raises(replan.UsageProblem) as caught:
        replan.solve(PROBLEM, model="template:bug", home=replan.MEMORY, **{name: 1.5})
    assert caught.value.place == name


@pytest.mark.parametrize("kind", ["guards", "generators"])
def test_a_plug_in_cannot_have_a_built_in_name(kind):
    for name in {"guards": ["plan_medium"], "generators": ["model", "LLMPlanGenerator"]}[kind]:
        with pytest.raises(replan.UsageProblem, match=f"replan.{kind} {name}: a plug-in cannot have a built-in name"):
            replan.solve(PROBLEM, model="template:bug", home=replan.MEMORY, **{kind: {name: lambda *_: None}})


@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_a_function_answers_questions(scripted, kind):
    texts = []

    def plain(question):
        texts.append(question["text"])
        return "3.12"

    async def coroutine(question):
        await trio.lowlevel.checkpoint()
        return plain(question)

    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    ask = plain if kind == "function" else coroutine
    result = replan.solve(PROBLEM, model=model, workflow="option_a", home=replan.MEMORY, ask=ask)
    assert result.succeeded
    assert [text.partition(": ")[2] for text in texts] == ["Which version is it?"]


def test_a_run_without_ask_waits_at_a_question(scripted):
    model = scripted({"g_analysis": [ASKING]})
    result = replan.solve(PROBLEM, model=model, workflow="option_a", home=replan.MEMORY)
    assert (result.status, result.succeeded) == ("waiting", False)
    assert result.question["text"].endswith(": Which version is it?")


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_an_empty_answer_leaves_the_run_waiting(scripted, answer):
    model = scripted({"g_analysis": [ASKING]})
    result = replan.solve(PROBLEM, model=model, workflow="option_a", home=replan.MEMORY, ask=lambda _: answer)
    assert (result.status, result.succeeded) == ("waiting", False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workflow", None),
        ("search", 3),
        ("model", 3),
        ("model", "scripted:"),
        ("guards", [print]),
        ("guards", {"mine": "no function"}),
        ("generators", {"mine": None}),
        ("home", 3),
        ("ask", "yes"),
    ],
)
def test_an_invalid_argument_is_refused_with_its_keyword(name, value):
    with pytest.raises(replan.UsageProblem) as caught:
        replan.solve(PROBLEM, **{"model": "template:bug", "home": replan.MEMORY} | {name: value})
    assert caught.value.place == name


@pytest.mark.parametrize("problem", [None, b"Fix it.", "", 7])
def test_a_problem_is_text(problem):
    with pytest.raises(replan.UsageProblem) as caught:
        replan.solve(problem, model="template:bug", home=replan.MEMORY)
    assert caught.value.place == "problem"


def test_a_workflow_may_be_a_path(scripted, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW.format(generator="model", guard="plan_medium"))
    assert replan.solve(PROBLEM, workflow=path, model=scripted({"g_plan": [PLAN]}), home=replan.MEMORY).succeeded


WORKFLOW = "name: mine\naction_pairs:\n  g_plan: {{generator: {generator}, guard: {guard}, prompt: plan_direct}}\n"


def test_a_guard_is_plugged_in_by_passing_it(scripted, tmp_path):
    def picky(artifact, context):
        assert isinstance(artifact, replan.Artifact)
        assert isinstance(context, replan.Context)
        good = artifact.value.value["plan_id"] == "p2"
        findings = () if good else (replan.Finding(code="mine.wrong", message="p2 is the one"),)
        return replan.Verdict(guard="picky", passed=good, score=float(good), findings=findings)

    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW.format(generator="model", guard="picky"))
    model = scripted({"g_plan": distinct(PLAN, 3)})
    result = replan.solve(PROBLEM, workflow=str(path), model=model, guards={"picky": picky}, home=replan.MEMORY)
    assert (result.succeeded, result.calls, result.path[-1].value["plan_id"]) == (True, 3, "p2")


def test_a_generator_is_plugged_in_by_passing_it(tmp_path):
    async def make(context):
        return json.dumps(PLAN) if context.retry else "not yet"

    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW.format(generator="maker", guard="plan_medium"))
    result = replan.solve(
        PROBLEM, workflow=str(path), model="template:bug", generators={"maker": make}, home=replan.MEMORY
    )
    assert (result.succeeded, result.calls) == (True, 2)


def test_plans_are_checked_without_a_run():
    assert replan.check(PLAN).passed
    assert replan.check(json.dumps(PLAN), level="expansive").facts["assurance"] == "strong"
    assert [error.code for error in replan.check(LOST).errors] == ["plan.precondition_unsatisfied"]
    assert not replan.check("no plan").passed
    assert not replan.check(PLAN, r_max=1).passed
    with pytest.raises(replan.UsageProblem, match="level"):
        replan.check(PLAN, level="large")
    with pytest.raises(replan.UsageProblem, match="assurance"):
        replan.check(PLAN, level="expansive", assurance="total")


def test_a_program_of_a_user_is_type_checked_with_the_project():
    """`make lint` accepts what is right in it, and fails where a wrong line is no error."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert settings["modules"] == ["tests.api.typed_program"]
    assert (ROOT / "tests" / "api" / "typed_program.py").read_text(encoding="utf-8").count("# type: ignore[") == 8


def test_the_signatures_are_explicit():
    for names in (("start", "asolve", "solve"), ("drive", "aresume", "resume")):
        first, *others = (inspect.signature(getattr(replan, name)).parameters for name in names)
        assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in first.values())
        assert [list(other.values()) for other in others] == [list(first.values())] * 2
    assert inspect.signature(replan.solve).return_annotation is replan.Result


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="modle"):
        replan.solve("Fix it.", modle="template:bug")
