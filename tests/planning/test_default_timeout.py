"""The time limit of a model's call where nobody sets one: that of the model's server."""

import pytest

from actors.planning.events import RunStarted
from actors.planning.prepare import PlanningInput, RunOptions, describe_edits, prepare_planning
from actors.run.kind import Setup
from actors.run.settings import change_of
from replan.runs.prepare import call_seconds_of, setup_for
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, choose_model
from runtime.core.ledger import Ledger, Limits
from runtime.models.providers import CALL_SECONDS, LOCAL_CALL_SECONDS

PROBLEM = "The login fails with a timeout in app/login.py. Fix the bug."
LOCAL = {"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"}
FILE = """\
name: mine
{more}action_pairs:
  g_plan: {{generator: model, guard: plan_medium{own}}}
"""


def setup(environment, model="qwen3:8b"):
    choice = choose_model(model, environment, UserConfig())
    return setup_for(
        choice, config=UserConfig(), registry=registry(), root=data_root(), environment=environment, now=1_000.0
    )


@pytest.mark.parametrize(
    ("environment", "model", "seconds"),
    [
        (LOCAL, "qwen3:8b", LOCAL_CALL_SECONDS),
        ({"OPENAI_BASE_URL": "http://192.168.1.5:8080/v1"}, "qwen3:8b", LOCAL_CALL_SECONDS),
        ({"OPENAI_BASE_URL": "https://models.example.org/v1"}, "qwen3:8b", CALL_SECONDS),
        ({"OPENAI_API_KEY": "sk-x"}, "gpt-5-mini", CALL_SECONDS),
        (LOCAL, "template:bug", CALL_SECONDS),
    ],
)
def test_the_limit_is_longer_for_a_server_on_this_machine_or_in_a_private_network(environment, model, seconds):
    pinned = prepare_planning(PlanningInput(PROBLEM), setup(environment, model)).pinned
    assert {each.timeout_seconds for each in pinned.steps.values()} == {seconds}


def test_a_step_with_a_model_of_a_local_server_gives_its_run_the_longer_limit(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE.format(more="", own=", model: qwen3:8b"))
    pinned = prepare_planning(
        PlanningInput(PROBLEM, RunOptions(workflow=str(path))), setup(LOCAL, "template:bug")
    ).pinned
    assert {each.timeout_seconds for each in pinned.steps.values()} == {LOCAL_CALL_SECONDS}


def test_what_the_user_says_holds_for_every_server():
    wanted = RunOptions(limits={"timeout": 30.0})
    pinned = prepare_planning(PlanningInput(PROBLEM, wanted), setup(LOCAL)).pinned
    assert {each.timeout_seconds for each in pinned.steps.values()} == {30.0}


@pytest.mark.parametrize(
    ("more", "own", "seconds"),
    [("model_timeout_seconds: 90\n", "", 90.0), ("", ", timeout_seconds: 70", 70.0), ("", "", LOCAL_CALL_SECONDS)],
)
def test_what_the_workflow_says_holds_for_every_server(tmp_path, more, own, seconds):
    path = tmp_path / "mine.yaml"
    path.write_text(FILE.format(more=more, own=own))
    pinned = prepare_planning(PlanningInput(PROBLEM, RunOptions(workflow=str(path))), setup(LOCAL)).pinned
    assert pinned.steps["g_plan"].timeout_seconds == seconds


@pytest.mark.parametrize(
    ("begun_with", "limit", "model", "seconds"),
    [
        ({"OPENAI_API_KEY": "sk-x"}, {}, "qwen3:8b", LOCAL_CALL_SECONDS),
        (LOCAL, {}, "template:bug", CALL_SECONDS),
        ({"OPENAI_API_KEY": "sk-x"}, {"timeout": 30.0}, "qwen3:8b", 30.0),
    ],
)
def test_with_another_model_a_run_takes_the_limit_of_its_server_unless_the_user_said_one(
    begun_with, limit, model, seconds
):
    pinned = prepare_planning(PlanningInput(PROBLEM, RunOptions(limits=limit)), setup(begun_with)).pinned
    usual = call_seconds_of(choose_model(model, LOCAL, UserConfig()), LOCAL)
    change = change_of(Ledger(Limits()), {"kind": "change", "model": model, "call_seconds": usual}, 1.0)
    assert {each.timeout_seconds for each in pinned.with_settings(change).steps.values()} == {seconds}


def test_the_default_of_the_server_is_no_edit_of_the_workflow():
    """A resumed run says where its workflow's file differs now; the file never named this limit."""
    prepared = prepare_planning(PlanningInput(PROBLEM), setup(LOCAL))
    pinned, begin = prepared.pinned, prepared.first("run", 1_000.0)
    started = RunStarted(
        at=1_000.0,
        run="run",
        specification=PROBLEM,
        pinned=pinned.model_dump_json(),
        limits=begin.limits,
        source=prepared.source,
        given=prepared.given,
    )
    assert describe_edits(started, pinned, registry(), data_root()) == ""


def test_without_a_server_it_is_the_usual_one():
    assert Setup("template:bug", None, registry(), data_root(), {}, 0.0).call_seconds == CALL_SECONDS
