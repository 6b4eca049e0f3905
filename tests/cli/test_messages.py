"""Talking to runs: several questions at once, killed drivers, races, messages of the user's own accord, reviews."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, PLAN, RECON, said
from tests.cli.test_bad_input import refused
from tests.cli.test_processes import PATIENCE, Terminal, wait_until

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
    """Return the records of a kind."""
    shown = json.loads(replan("show", run, "--events", "--json").stdout)["events"]
    return [event for event in shown if event["kind"] == kind]


@pytest.fixture
def two(replan, problem, scripted):
    """A run with two open questions, side by side; its id."""
    done = replan("run", problem, "-m", scripted(SCRIPT), "--json")
    assert done.exit_code == 6, done.output
    run = json.loads(done.stdout)["run_id"]
    shown = json.loads(replan("questions", run, "--json").stdout)["questions"]
    assert {(one["step"], one["text"]) for one in shown} == {
        ("g_analysis", "Which version is it?"),
        ("g_recon", "Which colour?"),
    }
    return run, {one["step"]: one["id"] for one in shown}


def test_two_questions_are_answered_in_reverse_order_from_another_process_after_a_kill(
    shell, replan, problem, scripted
):
    """S114: driver killed with -9 meanwhile, one answer sent twice: each reaches its own question, once."""
    with shell(
        "run", problem, "-m", scripted({**SCRIPT, "g_recon": [said(SCRIPT["g_recon"][0], seconds=0.5), *[RECON] * 5]})
    ) as driver:
        wait_until(lambda: '"q1"' in replan("show", "--last", "--events", "--json").stdout, "the first question")
        run = run_id(replan)
        driver.kill()
        driver.communicate(timeout=PATIENCE)
    replan("resume", run)
    asked = {one["step"]: one["id"] for one in json.loads(replan("questions", run, "--json").stdout)["questions"]}
    assert len(asked) == 2
    for step, answer in (("g_recon", "blue"), ("g_analysis", "3.12"), ("g_recon", "Blue")):
        with shell("answer", asked[step], answer) as process:
            _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    assert json.loads(replan("questions", "--json").stdout) == {"questions": []}
    done = replan("resume", run, "--json")
    assert (done.exit_code, json.loads(done.stdout)["plan"]) == (0, PLAN)
    answered = [(event["question_id"], event["answer"]) for event in events(replan, run, "clarification_answered")]
    assert answered == [(asked["g_recon"].split("/")[1], "blue"), (asked["g_analysis"].split("/")[1], "3.12")]
    assert events(replan, run, "mail_refused") == []


def test_the_questions_beside_the_first_are_counted_until_the_last_is_answered(replan, two):
    run, asked = two
    for command in ("resume", "show"):
        shown = replan(command, run)
        assert f"And 1 more question: `replan questions {run}`." in shown.stdout
        assert f"replan: answer with: replan answer {run}/q1 TEXT\n" in shown.stderr
        assert f"replan: 1 more question is open: replan questions {run}\n" in shown.stderr
    assert json.loads(replan("show", run, "--json").stdout)["open_questions"] == sorted(asked.values())
    assert (
        f"replan: 1 more question is open: replan questions {run}\n" in replan("answer", asked["g_recon"], "red").stderr
    )
    (row,) = json.loads(replan("runs", "--waiting", "--json").stdout)["runs"]
    assert row["question"] == asked["g_analysis"]
    assert replan("show", run).stderr == f"replan: answer with: replan answer {asked['g_analysis']} TEXT\n"
    assert "more" not in replan("answer", asked["g_analysis"], "3.12").stderr
    assert json.loads(replan("runs", "--waiting", "--json").stdout) == {"runs": []}


def test_two_answers_racing_from_two_processes_are_one_answer_and_one_conflict(shell, replan, two):
    run, asked = two
    for _ in range(2):
        racing = [shell("answer", asked["g_recon"], colour) for colour in ("red", "blue")]
        done = [(one.communicate(timeout=PATIENCE)[1].decode(), one.returncode) for one in racing]
        assert sorted(code for _, code in done) == [0, 2]
        (refusal,) = (said for said, code in done if code == 2)
        winner = ("red", "blue")[[code for _, code in done].index(0)]
        assert repr(winner) in refusal
    replan("answer", asked["g_analysis"], "3.12")
    assert replan("resume", run).exit_code == 0
    assert [one["answer"] for one in events(replan, run, "clarification_answered")] == [winner, "3.12"]


def test_an_answer_that_does_not_fit_is_refused_and_the_question_stays_open(replan, two):
    run, asked = two
    refused(replan("answer", asked["g_recon"], "green"), "one of: red, blue, not 'green'", "stays open")
    refused(replan("answer", asked["g_recon"], ""), "some text", "stays open; it wants one of: red, blue")
    refused(replan("answer", asked["g_recon"]), "--decline")
    refused(replan("answer", asked["g_recon"], "red", "--decline"), "both")
    assert len(json.loads(replan("questions", run, "--json").stdout)["questions"]) == 2
    assert "answer: one of: red, blue" in replan("questions").stdout
    assert replan("answer", asked["g_recon"], "RED").exit_code == 0
    assert replan("answer", asked["g_recon"], "red").exit_code == 0


def test_a_declined_question_is_gone_on_without(replan, two):
    run, asked = two
    assert replan("answer", asked["g_recon"], "--decline").exit_code == 0
    assert "was declined so before" in replan("answer", asked["g_recon"], "--decline").stderr
    refused(replan("answer", asked["g_recon"], "red"), "it was declined")
    assert replan("answer", asked["g_analysis"], "3.12").exit_code == 0
    refused(replan("answer", asked["g_analysis"], "--decline"), "'3.12'")
    assert json.loads(replan("resume", run, "--json").stdout)["outcome"] == "success"
    assert len(events(replan, run, "clarification_declined")) == 1


def test_a_note_is_shown_as_not_yet_seen_until_a_prompt_with_it_has_gone_out(replan, two):
    run, asked = two
    assert replan("tell", run[:6], "The store is Redis.").exit_code == 0
    assert "note: The store is Redis. (not yet seen)" in " ".join(replan("show", run).stdout.split())
    assert json.loads(replan("show", run, "--json").stdout)["messages"][0]["seen"] is False
    replan("resume", run)
    assert "not yet seen" in replan("show", run).stdout  # Nothing was asked of a model meanwhile.
    for step, text in (("g_recon", "red"), ("g_analysis", "3.12")):
        replan("answer", asked[step], text)
    shown = json.loads(replan("resume", run, "--json").stdout)
    assert shown["messages"] == [{"kind": "note", "text": "The store is Redis.", "seen": True}]


def test_a_requirement_withdraws_what_was_asked_for_the_old_ones(replan, two):
    run, _ = two
    assert replan("tell", run, "--as", "requirement", "-", input="It must run offline.\n").exit_code == 0
    shown = json.loads(replan("resume", run, "--json").stdout)
    assert (shown["outcome"], shown["revision"]) == ("success", 1)
    assert len(events(replan, run, "clarification_withdrawn")) == 2
    assert shown["messages"] == [{"kind": "requirement", "text": "It must run offline.", "seen": True}]


def test_a_requirement_cancels_work_in_flight_and_the_built_in_model_plans_for_it(shell, replan, problem, scripted):
    """The slow call of the old revision is charged as unknown; the new one is asked at once."""
    model = scripted({"g_plan": [said(PLAN, seconds=30), PLAN]})
    with shell("run", problem, "-m", model, "-w", "single", "--json") as driver:
        wait_until(lambda: "generation_requested" in replan("show", "--last", "--events", "--json").stdout, "a call")
        run = run_id(replan)
        assert replan("tell", run, "--as", "requirement", "It must run offline.").exit_code == 0
        out, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    shown = json.loads(out)
    assert (shown["calls"], shown["revision"], shown["plan"]) == (2, 1, PLAN)


def test_the_built_in_model_honours_a_requirement_in_its_plan(replan, tmp_path):
    thin = tmp_path / "thin.md"
    thin.write_text("Make it better, please.")
    run = json.loads(replan("run", thin, "-m", "rules", "--json").stdout)["run_id"]
    replan("tell", run, "--as", "requirement", "Never write to the production database.")
    replan("resume", run)
    replan("answer", f"{run}/q2", "The login in auth/session.py fails with a TimeoutError; it should work.")
    plan = json.loads(replan("resume", run, "--json").stdout)["plan"]
    assert "Never write to the production database" in json.dumps(plan)


@pytest.mark.parametrize("text", ["", "  ", "x" * 10_001])
def test_a_message_with_nothing_or_too_much_in_it_is_refused(replan, two, text):
    run, _ = two
    refused(replan("tell", run, text), "TEXT")
    refused(replan("tell", run, "-", input="x" * 50_000), "40,000 bytes")
    assert replan("tell", run, "x", "--as", "wish").exit_code == 2
    refused(replan("tell", "zzzzzz", "x"), "no run", code=8)


def test_a_run_that_has_finished_or_is_being_cancelled_takes_no_message(replan, two):
    run, asked = two
    replan("cancel", run)
    refused(replan("tell", run, "x"), "finished (cancelled)")
    refused(replan("answer", asked["g_recon"], "red"), "finished (cancelled)")
    refused(replan("answer", asked["g_recon"], "--decline"), "finished (cancelled)")


def test_runs_that_wait_for_long_are_listed_alone(replan, two):
    run, _ = two
    assert run in replan("runs", "--waiting").stdout
    assert run not in replan("runs", "--waiting", "--older-than", "1h").stdout
    assert run in replan("runs", "--waiting", "--older-than", "0.001s").stdout
    refused(replan("runs", "--older-than", "1h"), "--waiting")


def test_a_review_shows_the_artifact_and_its_rejection_is_feedback(replan, problem, scripted, tmp_path):
    """Across processes: the reviewer's words are posted while nobody drives the run."""
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
    refused(replan("answer", question["id"], "fine"), "approve, or reject")
    assert replan("answer", question["id"], "reject: no way back").exit_code == 0
    assert replan("resume", run).exit_code == 6
    assert "review.rejected" in replan("show", run, "--tree").stdout
    assert replan("answer", f"{run}/q2", "approve").exit_code == 0
    shown = json.loads(replan("resume", run, "--json").stdout)
    assert (shown["outcome"], shown["plan"]) == ("success", better)


@pytest.mark.parametrize("others", ["all_of: [", "majority: [analysis_valid, "])
def test_what_a_person_is_still_to_judge_reads_neither_accepted_nor_rejected(
    replan, problem, scripted, tmp_path, others
):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED.replace("all_of: [", others))
    run = replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", workflow)
    name = run_id(replan)
    before, after = "g_plan/v1.a1 left to a person's review", f"g_plan/v1.a1 accepted by {others.partition(':')[0]}"
    for shown in (run.stderr, replan("log", name).stdout, replan("show", name, "--events").stdout):
        assert before in shown
        assert "accepted" not in shown
        assert "rejected" not in shown
    assert "g_plan/v1.a1  left to a person's review" in replan("show", name, "--tree").stdout
    replan("answer", f"{name}/q1", "approve")
    assert after in replan("resume", name).stderr
    log = replan("log", name).stdout
    assert log.index(before) < log.index(after)


def test_what_another_guard_has_rejected_is_left_to_nobody(replan, problem, scripted, tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    replan("run", problem, "-m", scripted({"g_plan": ["no plan", PLAN]}), "-w", workflow)
    log = replan("log", "--last").stdout
    assert "g_plan/v1.a1 rejected by " in log
    assert "g_plan/v1.a1 left" not in log
    assert "g_plan/v1.a2 left to a person's review" in log


def test_a_declined_review_says_what_the_reviewer_can_do(replan, problem, scripted, tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    run = json.loads(replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", workflow, "--json").stdout)[
        "run_id"
    ]
    assert replan("answer", f"{run}/q1", "--decline").exit_code == 0
    done = replan("resume", run)
    assert done.exit_code == 3
    assert "Next: run it again, and approve the artifact" in done.stdout


def test_a_workflow_with_a_review_is_looked_at_like_any_other(replan, tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    for command in ("show", "graph", "cost"):
        done = replan("workflow", command, workflow)
        assert done.exit_code == 0, done.output
    assert "human_review" in replan("workflow", "graph", workflow).stdout


def test_a_choice_is_picked_by_its_number_in_place(home, replan, problem, scripted):
    asking = Terminal("run", problem, "-m", scripted({**SCRIPT, "g_analysis": [ANALYSIS] * 5}))
    asking.read_until("   2  blue")
    asking.read_until("> $")
    asking.type("7\n")
    asking.read_until("one of: red, blue")
    asking.read_until("> $")
    asking.type("2\n")
    assert asking.end() == 0
    assert [one["answer"] for one in events(replan, run_id(replan), "clarification_answered")] == ["blue"]


def test_an_artifact_that_is_reviewed_in_place_keeps_its_indentation(home, problem, scripted, tmp_path):
    workflow = tmp_path / "reviewed.yaml"
    workflow.write_text(REVIEWED)
    asking = Terminal("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", str(workflow))
    asking.read_until("> $")
    asking.type("approve\n")
    assert asking.end() == 0
    assert '   {\r\n     "goal": ' in asking.text
