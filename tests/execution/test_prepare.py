"""An execution begins with what its input says, and a plan that cannot run is refused before anything has run."""

import json

import pytest

from actors.execution import prepare
from actors.execution.config import ReadyPlan
from actors.execution.prepare import ExecutionInput, prepare_execution
from actors.run.kind import Setup
from actors.values.findings import Code, Finding, Verdict
from actors.values.model_settings import ModelSettings
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Limits
from tests.execution.stage import plan, step, tools_for

GOOD = plan(step("a", "start", "goal"))
UNREACHABLE = plan(step("a", "start", "goal"), goal="goal other")
TWICE = plan(step("a", "missing", "goal"), step("b", "lost", "other"), goal="goal other")


def prepared(tmp_path, value=GOOD, tools=None, **fields):
    given = {"workspace": tmp_path, "tools": tools or tools_for(value), **fields}
    setup = Setup("template:bug", None, registry(), data_root(), {}, 1_000.0)
    return prepare_execution(ExecutionInput(value, **given), setup)


def test_settings_of_calls_are_those_of_the_model_and_a_persons_go_first(tmp_path):
    setup = Setup(
        "m", None, registry(), data_root(), {}, 1_000.0, settings_of=lambda _: ModelSettings(seed=1, top_p=0.5)
    )
    given = ExecutionInput(GOOD, workspace=tmp_path, tools=tools_for(GOOD), model_settings={"seed": 2})
    assert prepare_execution(given, setup).config.model_settings == ModelSettings(seed=2, top_p=0.5)


def test_what_an_execution_is_pinned_to_is_its_input(tmp_path):
    run = prepared(tmp_path, plan_of="p1", level="plan_medium", approval="each", snapshots=False, r_max=77)
    pinned = run.config
    assert (pinned.level, pinned.approval, pinned.snapshots, pinned.r_max) == ("plan_medium", "each", False, 77)
    assert (pinned.workspace, pinned.policy.name, pinned.model) == (str(tmp_path), "default", "template:bug")
    assert (run.title, run.plan_of, run.kind, run.notices) == ("reach the goal", "p1", "execution", ())
    assert (run.limits.calls, pinned.replans_max, pinned.questions_max, pinned.r_patience) == (90, 2, 5, 2)
    assert (pinned.timeout_seconds, pinned.output_tokens_max, pinned.question_expires_seconds) == (120.0, 16_384, None)
    assert (pinned.assurance, prepared(tmp_path).config.assurance) == (None, "strong")
    first = run.first("r", 5.0)
    assert (first.at, first.run, first.limits, first.plan_of) == (5.0, "r", run.limits, "p1")


@pytest.mark.parametrize(
    ("fields", "title"),
    [
        ({"problem": "# Mend it\nmore"}, "Mend it"),
        ({"value": {**GOOD, "goal": ""}}, "p"),
    ],
)
def test_the_title_is_that_of_the_problem_else_the_goal_else_the_name_of_the_plan(tmp_path, fields, title):
    assert prepared(tmp_path, **fields).title == title


def test_that_no_new_plan_can_be_made_is_a_notice(tmp_path):
    assert prepared(tmp_path, author_lacks="it has no template").notices == (
        "if this plan fails, no new plan can be made: it has no template",
    )


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"value": {**GOOD, "steps": 3}, "tools": tools_for(GOOD)}, "PLAN"),
        (
            {"tools": tools_for(plan())},
            "no tool or check implements generator 'do_a', guard 'syntax' (bind them in the tools file tools.yaml)",
        ),
        (
            {"level": "plan_small"},
            "level: unknown level 'plan_small' (one of plan_minimal, plan_medium, plan_expansive)",
        ),
        ({"value": UNREACHABLE}, "(`replan check` shows all findings)"),
        ({"value": TWICE}, "more finding"),
    ],
)
def test_a_plan_that_cannot_run_is_refused_with_what_helps(tmp_path, fields, text):
    with pytest.raises(UsageProblem) as refused:
        prepared(tmp_path, **fields)
    assert text in str(refused.value)


def test_the_findings_that_are_not_shown_are_counted(tmp_path, monkeypatch):
    for count, others in ((1, ""), (2, " (and 1 more finding)"), (3, " (and 2 more findings)")):
        monkeypatch.setattr(prepare, "prove", lambda *_, count=count: refusal(count))
        with pytest.raises(UsageProblem) as refused:
            prepared(tmp_path)
        assert refused.value.cause == f"the plan is not proved: {Code.UNBOUND}: f0 f0{others}"


def refusal(count):
    findings = tuple(Finding(code=Code.UNBOUND, where="", message=f"f{number}\n f{number}") for number in range(count))
    return Verdict(guard="g", passed=False, score=0.0, findings=findings)


def test_a_workspace_that_is_no_folder_is_refused(tmp_path):
    with pytest.raises(UsageProblem, match="there is no folder at this path"):
        prepared(tmp_path, workspace=tmp_path / "none")


def test_a_plan_over_the_limit_of_its_bytes_is_refused_and_one_at_it_is_not(tmp_path, monkeypatch):
    length = len(json.dumps(GOOD, sort_keys=True))
    monkeypatch.setattr(prepare, "PLAN_BYTES_MAX", length)
    assert prepared(tmp_path).verdict.passed
    monkeypatch.setattr(prepare, "PLAN_BYTES_MAX", length - 1)
    with pytest.raises(UsageProblem, match=f"the plan has {length} bytes, more than the limit of {length - 1}"):
        prepared(tmp_path)


def test_a_limit_of_money_needs_a_known_price(tmp_path):
    with pytest.raises(UsageProblem, match="the price of 'template:bug' is not known"):
        prepared(tmp_path, limits=Limits(calls=5, micro_usd=1))


def test_plans_with_the_same_text_are_one_key():
    text = json.dumps(plan(step("a", "start", "goal")))
    assert len({ReadyPlan(text), ReadyPlan(text), ReadyPlan(f" {text}")}) == 2
