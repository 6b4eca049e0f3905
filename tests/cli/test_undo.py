"""`undo` and `cancel --undo`: what an execution did is undone by real tools, in one process or in two."""

import json
import re

import pytest

from replan.cli.exits import Exit
from tests.cli.conftest import run_id

ACTIONS = """
def log(workspace, *words):
    with (workspace / "log").open("a") as file:
        print(*words, file=file)


def book(workspace, what):
    log(workspace, "book", what)
    return f"booked: number B{len(what)}"


def cancel(workspace, what, number):
    log(workspace, "cancel", what, number)


def look(workspace):
    return True


def pay(workspace):
    log(workspace, "pay")
    return not (workspace / "poor").exists()


def refund(workspace):
    log(workspace, "refund")
    return not (workspace / "shut").exists()
"""
TOOLS = """
tools:
  book:
    python: ./actions.py:book
    parameters: {what: {type: choice, choices: [hotel, flight]}}
    undo: cancel
    risk: none
  cancel:
    python: ./actions.py:cancel
    parameters:
      what: {type: choice, choices: [hotel, flight]}
      number: {type: string, pattern: "B[0-9]+"}
  pay: {python: "./actions.py:pay", undo: refund, risk: none}
  refund: {python: "./actions.py:refund", repeatable: true}
  look: {python: "./actions.py:look", risk: none}
guards: {syntax: look}
generators:
  Hotel: {tool: book, with: {what: hotel}, values: {number: {after: "number ", pattern: "B[0-9]+"}}}
  Flight: {tool: book, with: {what: flight}, values: {number: {after: "number ", pattern: "B[0-9]+"}}}
  Pay: pay
"""


def step(name, needs, makes, generator, **more):
    step = {"step_id": name, "generator": generator, "guard": "syntax", "retry_budget": 1, "name": name}
    return {**step, "preconditions": needs.split(), "effects": makes.split(), **more}


PLAN = {
    "plan_id": "trip",
    "goal": "the trip is paid",
    "initial_state": ["start"],
    "goal_state": ["paid"],
    "total_retry_budget": 9,
    "steps": [
        step("hotel", "start", "hotel number", "Hotel"),
        step("flight", "hotel", "flight number", "Flight", dependencies=["hotel"]),
        step("pay", "flight", "paid", "Pay", dependencies=["flight"], on_failure="undo"),
    ],
}
UNDONE = ["cancel flight B6", "cancel hotel B5"]


@pytest.fixture
def trip(replan, tmp_path):

    def execute(*words, tools=TOOLS, plan=PLAN):
        (tmp_path / "tools.yaml").write_text(tools)
        (tmp_path / "actions.py").write_text(ACTIONS)
        (tmp_path / "work").mkdir(exist_ok=True)
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        names = ("--tools", tmp_path / "tools.yaml", "--workspace", tmp_path / "work", "-m", "template:bug")
        return replan("execute", tmp_path / "plan.json", *names, "--no-input", *words)

    return execute


def log(tmp_path):
    return (tmp_path / "work" / "log").read_text().splitlines()


def test_a_failure_that_undoes_ends_the_run_with_exit_code_10_and_a_list(trip, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "poor").touch()
    result = trip("--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["outcome"]) == (Exit.UNDONE, "undone"), result.stderr
    assert [(each["step"], each["status"]) for each in shown["undo"]] == [("flight", "undone"), ("hotel", "undone")]
    assert log(tmp_path) == ["book hotel", "book flight", "pay", *UNDONE]


def test_the_result_for_people_says_what_was_undone(trip, tmp_path, replan):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "poor").touch()
    result = trip()
    assert "flight (call 2): undone by cancel" in result.stdout
    assert result.stdout.index("flight (call 2)") < result.stdout.index("hotel (call 1)")
    shown = replan("log", run_id(replan)).stdout
    assert "the run undoes everything (decided by the plan)" in shown


def test_a_run_that_has_succeeded_is_undone_later_and_only_once(trip, tmp_path, replan):
    first = trip()
    assert first.exit_code == 0, first.stderr
    run = run_id(replan)
    result = replan("undo", run, "--json", "--no-input")
    assert (result.exit_code, json.loads(result.stdout)["outcome"]) == (Exit.UNDONE, "undone"), result.stderr
    assert log(tmp_path) == ["book hotel", "book flight", "pay", "refund", *UNDONE]
    again = replan("undo", run)
    assert again.exit_code == Exit.USAGE
    assert "everything that can be undone is undone already" in again.stderr
    assert replan("cancel", run, "--undo").exit_code == Exit.USAGE
    assert len(log(tmp_path)) == 6


def test_an_undo_that_fails_asks_and_the_answer_goes_on_with_the_next(trip, tmp_path, replan):
    trip()
    (tmp_path / "work" / "shut").touch()
    run = run_id(replan)
    asked = replan("undo", run, "--json", "--no-input")
    assert asked.exit_code == Exit.WAITING, asked.stderr
    question = json.loads(asked.stdout)["question"]
    assert "How should the step 'pay' (call 3) be undone?" in question["text"]
    running = replan("undo", run, "--no-input")
    assert running.exit_code == Exit.USAGE
    assert "the run is undoing everything already" in running.stderr
    assert replan("answer", question["id"], "it is undone").exit_code == 0
    result = json.loads(replan("resume", run, "--json", "--no-input").stdout)
    assert next((each["step"], each["status"]) for each in result["undo"]) == ("pay", "by_hand")
    assert log(tmp_path)[-2:] == UNDONE


def test_cancel_undo_undoes_a_run_that_waits_for_an_approval(trip, tmp_path, replan):
    waiting = trip(tools=TOOLS.replace("undo: refund, risk: none", "undo: refund"))
    assert waiting.exit_code == Exit.WAITING, waiting.stderr
    run = run_id(replan)
    cancelled = replan("cancel", run, "--undo")
    assert (cancelled.exit_code, "undoes the work of the run" in cancelled.stderr) == (0, True)
    result = replan("resume", run, "--json", "--no-input")
    assert (result.exit_code, json.loads(result.stdout)["outcome"]) == (Exit.UNDONE, "undone"), result.stderr
    assert log(tmp_path) == ["book hotel", "book flight", *UNDONE]


def test_an_execution_in_which_nothing_can_be_undone_and_a_run_of_another_kind_are_refused(trip, replan, tmp_path):
    tools = re.sub("undo: (cancel|refund)", "undo: nothing", TOOLS)
    trip(tools=tools)
    nothing = replan("undo", run_id(replan))
    assert nothing.exit_code == Exit.USAGE
    assert "there is nothing to undo" in nothing.stderr
    (tmp_path / "problem.md").write_text("Fix the bug: the export in app/export.py loses the last row.")
    replan("run", tmp_path / "problem.md", "-m", "template:bug", "--no-input")
    other = replan("undo", run_id(replan))
    assert other.exit_code == Exit.USAGE
    assert "only the actions of an execution can be undone" in other.stderr


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        ("undo: cancel\n", "undo: cancle\n", "there is no tool 'cancle'"),
        ("number: {type", "seat: {type", "the parameter 'seat' of undo 'cancel' for step"),
    ],
    ids=["unknown", "argument"],
)
def test_a_tools_file_whose_undo_cannot_be_called_is_refused_before_anything_runs(old, new, cause, trip, tmp_path):
    result = trip(tools=TOOLS.replace(old, new))
    assert result.exit_code == Exit.USAGE
    assert cause in result.stderr
    assert not (tmp_path / "work" / "log").exists()


def test_a_plan_whose_undo_no_tool_is_and_one_with_a_gap_are_refused(trip):
    steps = [{**PLAN["steps"][0], "undo": "burn"}, *PLAN["steps"][1:]]
    result = trip(plan={**PLAN, "steps": steps})
    assert (result.exit_code, "undo 'burn' of step 'hotel'" in result.stderr) == (Exit.USAGE, True)
    result = trip(tools=TOOLS.replace("    undo: cancel\n", ""))
    assert (result.exit_code, "plan.no_undo" in result.stderr) == (Exit.USAGE, True)


def test_a_model_that_is_told_of_the_undo_tools_writes_a_plan_that_undoes(replan, problem, scripted, tmp_path):
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "actions.py").write_text(ACTIONS)
    (tmp_path / "work").mkdir()
    (tmp_path / "proved.yaml").write_text(
        "name: proved\naction_pairs:\n  g_plan: {generator: model, guard: plan_expansive, prompt: plan_direct}\n"
    )
    plan = {**PLAN, "steps": [{**each, "outcomes": []} for each in PLAN["steps"]]}
    words = ("-w", tmp_path / "proved.yaml", "-m", scripted({"g_plan": [plan]}), "--tools", tmp_path / "tools.yaml")
    planned = replan("run", problem, *words, "--no-input", "--json")
    assert planned.exit_code == 0, planned.output
    run = run_id(replan)
    prompt = replan("show", run, "--prompt", "g_plan/v1.a1").stdout
    assert json.loads(re.search(r'"undos": (\{.*?\})', prompt, re.DOTALL)[1]) == {
        "Flight": "cancel",
        "Hotel": "cancel",
        "Pay": "refund",
    }
    steps = json.loads(replan("show", run, "--plan", "--json").stdout)["steps"]
    assert [each["undo"] for each in steps] == ["cancel", "cancel", "refund"]
    (tmp_path / "work" / "poor").touch()
    done = replan("execute", run, "--tools", tmp_path / "tools.yaml", "--workspace", tmp_path / "work", "--no-input")
    assert (done.exit_code, log(tmp_path)) == (Exit.UNDONE, ["book hotel", "book flight", "pay", *UNDONE]), done.output
