"""Messages to runs: several open questions, killed drivers, races, notes, requirements and reviews."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, PLAN, RECON, delayed_reply
from tests.cli.test_bad_input import assert_refused
from tests.long.cli.test_processes import PATIENCE
from tests.support.server_process import wait_until

STRATEGY = {
    "strategy_id": "S1_locate_and_fix",
    "strategy_name": "Locate and fix",
    "rationale": "It is a defect.",
    "key_steps": ["find", "fix"],
    "expected_guards": ["syntax"],
    "risk_factors": ["none known"],
    "open_questions": [],
}
COLOUR = {"question": "Which colour?", "choices": ["red", "blue"]}
SCRIPT = {
    "g_analysis": [{**ANALYSIS, "open_questions": ["Which version is it?"]}, *[ANALYSIS] * 5],
    "g_recon": [{**RECON, "open_questions": [COLOUR]}, *[RECON] * 5],
    "g_strategy": [STRATEGY] * 5,
    "g_plan": [PLAN] * 5,
}
REVIEWED = """
name: reviewed
action_pairs:
  g_plan: {generator: model, guard: {all_of: [plan_medium, human_review]}, role: plan}
"""


def events(replan, run, kind):
    shown = json.loads(replan("show", run, "--events", "--json").stdout)["events"]
    return [event for event in shown if event["kind"] == kind]


@pytest.fixture
def two_questions(replan, problem, scripted):
    """A run with two open questions; its id and the questions' ids by step."""
    result = replan("run", problem, "-m", scripted(SCRIPT), "--json")
    assert result.exit_code == 6, result.output
    run = json.loads(result.stdout)["run_id"]
    shown = json.loads(replan("questions", run, "--json").stdout)["questions"]
    assert {(item["step"], item["text"]) for item in shown} == {
        ("g_analysis", "The model asks about the step 'g_analysis': Which version is it?"),
        ("g_recon", "The model asks about the step 'g_recon': Which colour?"),
    }
    return run, {item["step"]: item["id"] for item in shown}


def test_two_questions_are_answered_in_reverse_order_from_another_process_after_a_kill(
    shell, replan, problem, scripted
):
    """S114: driver killed with -9 meanwhile, one answer sent twice: each reaches its own question, once."""
    with shell(
        "run",
        problem,
        "-m",
        scripted({**SCRIPT, "g_recon": [delayed_reply(SCRIPT["g_recon"][0], seconds=0.5), *[RECON] * 5]}),
    ) as driver:
        wait_until(lambda: '"q1"' in replan("show", "--last", "--events", "--json").stdout, "the first question")
        run = run_id(replan)
        driver.kill()
        driver.communicate(timeout=PATIENCE)
    replan("resume", run)
    rows = json.loads(replan("questions", run, "--json").stdout)["questions"]
    questions = {row["step"]: row["id"] for row in rows}
    assert len(questions) == 2
    for step, answer in (("g_recon", "blue"), ("g_analysis", "3.12"), ("g_recon", "Blue")):
        with shell("answer", questions[step], answer) as process:
            _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    assert json.loads(replan("questions", "--json").stdout) == {"questions": []}
    result = replan("resume", run, "--json")
    assert (result.exit_code, json.loads(result.stdout)["plan"]) == (0, PLAN)
    answered = [(event["question_id"], event["answer"]) for event in events(replan, run, "clarification_answered")]
    assert answered == [(questions["g_recon"].split("/")[1], "blue"), (questions["g_analysis"].split("/")[1], "3.12")]
    assert events(replan, run, "mail_refused") == []


def test_further_open_questions_are_counted(replan, two_questions):
    run, questions = two_questions
    for command in ("resume", "show"):
        shown = replan(command, run)
        assert f"And 1 more question: `replan questions {run}`." in shown.stdout
        answer = "red | blue" if questions["g_recon"].endswith("/q1") else "TEXT"
        assert f"replan: answer with: replan answer {run}/q1 {answer}\n" in shown.stderr
        assert f"replan: 1 more question is open: replan questions {run}\n" in shown.stderr
    assert json.loads(replan("show", run, "--json").stdout)["open_questions"] == sorted(questions.values())
    answered = replan("answer", questions["g_recon"], "red")
    assert f"replan: 1 more question is open: replan questions {run}\n" in answered.stderr
    (row,) = json.loads(replan("runs", "--waiting", "--json").stdout)["runs"]
    assert row["question"] == questions["g_analysis"]
    assert replan("show", run).stderr == f"replan: answer with: replan answer {questions['g_analysis']} TEXT\n"
    assert "more" not in replan("answer", questions["g_analysis"], "3.12").stderr
    assert json.loads(replan("runs", "--waiting", "--json").stdout) == {"runs": []}


def test_of_two_concurrent_answers_one_is_accepted_and_one_is_a_conflict(shell, replan, two_questions):
    run, questions = two_questions
    for _ in range(2):
        racing = [shell("answer", questions["g_recon"], colour) for colour in ("red", "blue")]
        result = [(process.communicate(timeout=PATIENCE)[1].decode(), process.returncode) for process in racing]
        assert sorted(code for _, code in result) == [0, 2]
        (refusal,) = (message for message, code in result if code == 2)
        winner = ("red", "blue")[[code for _, code in result].index(0)]
        assert repr(winner) in refusal
    replan("answer", questions["g_analysis"], "3.12")
    assert replan("resume", run).exit_code == 0
    assert [item["answer"] for item in events(replan, run, "clarification_answered")] == [winner, "3.12"]


def test_an_invalid_answer_is_refused_and_the_question_stays_open(replan, two_questions):
    run, questions = two_questions
    assert_refused(
        replan("answer", questions["g_recon"], ""), "must not be empty", "stays open; it expects one of: red, blue"
    )
    assert_refused(replan("tell", run, "-", input="x" * 50_000), "40,000 bytes")
    assert replan("tell", run, "x", "--as", "wish").exit_code == 2
    assert_refused(replan("answer", questions["g_recon"]), "--decline")
    assert_refused(replan("answer", questions["g_recon"], "red", "--decline"), "both")
    assert len(json.loads(replan("questions", run, "--json").stdout)["questions"]) == 2
    assert "  - red: The step is done again with this answer." in replan("questions").stdout


def test_a_run_goes_on_without_a_declined_answer(replan, two_questions):
    run, questions = two_questions
    declined_end = "If you decline, the step 'g_recon' is attempted again without an answer."
    declined = replan("answer", questions["g_recon"], "--decline")
    assert declined.exit_code == 0
    assert "is declined. The step 'recon' is attempted again without an answer" in declined.stderr
    again = replan("answer", questions["g_recon"], "--decline", "--json")
    assert "was already declined" in again.stderr
    assert json.loads(again.stdout)["otherwise"].startswith(declined_end)
    assert_refused(replan("answer", questions["g_recon"], "red"), "the question was declined before")
    assert replan("answer", questions["g_analysis"], "3.12").exit_code == 0
    assert_refused(replan("answer", questions["g_analysis"], "--decline"), "'3.12'")
    assert json.loads(replan("resume", run, "--json").stdout)["outcome"] == "success"
    assert len(events(replan, run, "clarification_declined")) == 1
    assert f"declined on the command line; {declined_end.removeprefix('If you decline, ')}" in replan("log", run).stdout


def test_a_note_is_shown_as_not_yet_seen_until_a_prompt_contains_it(replan, two_questions):
    run, questions = two_questions
    assert replan("tell", run[:6], "The store is Redis.").exit_code == 0
    assert "note: The store is Redis. (not yet seen)" in " ".join(replan("show", run).stdout.split())
    assert json.loads(replan("show", run, "--json").stdout)["messages"][0]["seen"] is False
    replan("resume", run)
    assert "not yet seen" in replan("show", run).stdout  # No request was sent meanwhile.
    for step, text in (("g_recon", "red"), ("g_analysis", "3.12")):
        replan("answer", questions[step], text)
    shown = json.loads(replan("resume", run, "--json").stdout)
    assert shown["messages"] == [{"kind": "note", "text": "The store is Redis.", "seen": True}]


def test_a_requirement_withdraws_open_questions(replan, two_questions):
    run, _ = two_questions
    assert replan("tell", run, "--as", "requirement", "-", input="It must run offline.\n").exit_code == 0
    shown = json.loads(replan("resume", run, "--json").stdout)
    assert (shown["outcome"], shown["revision"]) == ("success", 1)
    assert len(events(replan, run, "clarification_withdrawn")) == 2
    assert shown["messages"] == [{"kind": "requirement", "text": "It must run offline.", "seen": True}]


def test_a_requirement_cancels_calls_in_flight(shell, replan, problem, scripted):
    """The slow call of the old revision is charged as unknown; the new request is sent at once."""
    model = scripted({"g_plan": [delayed_reply(PLAN, seconds=30), PLAN]})
    with shell("run", problem, "-m", model, "-w", "single", "--json") as driver:
        wait_until(lambda: "generation_requested" in replan("show", "--last", "--events", "--json").stdout, "a call")
        run = run_id(replan)
        assert replan("tell", run, "--as", "requirement", "It must run offline.").exit_code == 0
        out, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    shown = json.loads(out)
    assert (shown["calls"], shown["revision"], shown["plan"]) == (2, 1, PLAN)


def test_the_built_in_model_puts_a_requirement_into_its_plan(replan, tmp_path):
    thin = tmp_path / "thin.md"
    thin.write_text("Make it better, please.")
    run = json.loads(replan("run", thin, "-m", "template:bug", "--json").stdout)["run_id"]
    replan("tell", run, "--as", "requirement", "Never write to the production database.")
    replan("resume", run)
    replan("answer", f"{run}/q2", "The login in auth/session.py fails with a TimeoutError; it should work.")
    plan = json.loads(replan("resume", run, "--json").stdout)["plan"]
    assert "Never write to the production database" in json.dumps(plan)


def test_waiting_runs_are_filtered_by_their_waiting_time(replan, two_questions):
    run, _ = two_questions
    assert run in replan("runs", "--waiting").stdout
    assert run not in replan("runs", "--waiting", "--older-than", "1h").stdout
    assert run in replan("runs", "--waiting", "--older-than", "0.001s").stdout
    assert_refused(replan("runs", "--older-than", "1h"), "--waiting")


def test_a_review_shows_the_artifact_and_its_rejection_is_feedback(replan, problem, scripted, tmp_path):
    """The review is posted while the run has no driver."""
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    better = {**PLAN, "plan_id": "better"}
    model = scripted({"g_plan": [PLAN, better]})
    run = json.loads(replan("run", problem, "-m", model, "-w", workflow, "--json").stdout)["run_id"]
    (question,) = json.loads(replan("questions", "--json").stdout)["questions"]
    assert json.loads(question["artifact"]) == PLAN
    listed = replan("questions").stdout.splitlines()
    indented = json.dumps(json.loads(question["artifact"]), indent=2).splitlines()
    assert listed[listed.index("  | {") :][: len(indented)] == [f"  | {row}" for row in indented]
    assert_refused(replan("answer", question["id"], "fine"), "approve, or reject")
    assert replan("answer", question["id"], "reject: no way back").exit_code == 0
    assert replan("resume", run).exit_code == 6
    assert "review.rejected" in replan("show", run, "--tree").stdout
    assert replan("answer", f"{run}/q2", "approve").exit_code == 0
    shown = json.loads(replan("resume", run, "--json").stdout)
    assert (shown["outcome"], shown["plan"]) == ("success", better)


@pytest.mark.parametrize("others", ["all_of: [", "majority: [analysis_valid, "])
def test_an_artifact_under_review_is_shown_neither_as_accepted_nor_as_rejected(
    replan, problem, scripted, tmp_path, others
):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED.replace("all_of: [", others))
    run = replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", workflow, "--full")
    name = run_id(replan)
    before, after = "g_plan/v1.a1 waits for a person's review", "g_plan/v1.a1 accepted by plan_medium and human_review"
    for shown in (run.stderr, replan("log", name).stdout, replan("show", name, "--events").stdout):
        assert before in shown
        assert "accepted" not in shown
        assert "rejected" not in shown
    assert "g_plan/v1.a1  waiting for a person's review" in replan("show", name, "--tree").stdout
    replan("answer", f"{name}/q1", "approve")
    assert "plan accepted" in replan("resume", name).stderr
    log = replan("log", name).stdout
    assert log.index(before) < log.index(after)


def test_an_artifact_that_another_guard_rejected_is_not_reviewed(replan, problem, scripted, tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    replan("run", problem, "-m", scripted({"g_plan": ["no plan", PLAN]}), "-w", workflow)
    log = replan("log", "--last").stdout
    assert "g_plan/v1.a1 rejected by " in log
    assert "g_plan/v1.a1 left" not in log
    assert "g_plan/v1.a2 waits for a person's review" in log


def test_the_result_of_a_declined_review_has_advice(replan, problem, scripted, tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    run = json.loads(replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", workflow, "--json").stdout)[
        "run_id"
    ]
    assert replan("answer", f"{run}/q1", "--decline").exit_code == 0
    result = replan("resume", run)
    assert result.exit_code == 3
    assert "Next: run the problem again, and approve the artifact" in result.stdout


def test_a_choice_can_be_answered_by_its_number_on_the_terminal(home, replan, problem, scripted, in_terminal):
    terminal = in_terminal("run", problem, "-m", scripted({**SCRIPT, "g_analysis": [ANALYSIS] * 5}))
    terminal.read_until("   2. blue: The step is done again")
    terminal.read_until("> $")
    terminal.type("7\n")
    terminal.read_until("one of: red, blue")
    terminal.read_until("> $")
    terminal.type("2\n")
    assert terminal.end() == 0
    assert [item["answer"] for item in events(replan, run_id(replan), "clarification_answered")] == ["blue"]


def test_an_artifact_under_review_keeps_its_indentation_on_the_terminal(home, problem, scripted, tmp_path, in_terminal):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    terminal = in_terminal("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", str(workflow))
    terminal.read_until("> $")
    terminal.type("approve\n")
    assert terminal.end() == 0
    assert '   | {\r\n   |   "goal": ' in terminal.text
