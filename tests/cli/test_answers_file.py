"""Many questions at once: `questions --export` writes a file of answers, and `answer --file` gives them."""

import json

import pytest
import yaml

from tests.cli.samples import ANALYSIS, ASKING, PLAN
from tests.cli.test_bad_input import assert_refused


@pytest.fixture
def asking(replan, problem, scripted):

    def start():
        model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
        return json.loads(replan("run", problem, "-m", model, "-w", "option_a", "--json").stdout)["run_id"]

    return start


def answers(tmp_path, text):
    path = tmp_path / "answers.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def still_open(replan):
    return {question["id"] for question in json.loads(replan("questions", "--json").stdout)["questions"]}


def test_the_exported_file_answers_equal_questions_of_several_runs_each_for_itself(replan, asking, tmp_path):
    runs = [asking(), asking()]
    text = replan("questions", "--export").stdout
    exported = yaml.safe_load(text)
    assert exported == {"answers": [{"questions": [f"{run}/q1" for run in runs], "answer": None}]}
    assert "# - The model asks about the step" in text
    filled = answers(tmp_path, text.replace("  answer:", '  answer: "3.12"'))
    given = replan("answer", "--file", filled, "--json")
    assert given.exit_code == 0, given.output
    assert [answer["answer"] for answer in json.loads(given.stdout)["answers"]] == ["3.12", "3.12"]
    assert "no host drives 2 of these runs" in given.stderr
    for run in runs:
        assert replan("resume", run, "--no-input").exit_code == 0
        assert '"3.12"' in replan("log", run, "--json").stdout


def test_the_same_file_again_records_nothing_more(replan, asking, tmp_path):
    run = asking()
    file = answers(tmp_path, f"answers:\n- questions: [{run}/q1]\n  answer: '3.12'\n")
    assert replan("answer", "--file", file).exit_code == 0
    again = replan("answer", "--file", file)
    assert (again.exit_code, "already has this answer" in again.stderr) == (0, True)


def test_a_file_comes_from_a_pipe_declines_and_leaves_open_what_has_no_answer(replan, asking):
    declined, left = asking(), asking()
    text = f"answers:\n- questions: [{declined}/q1]\n  decline: true\n- questions: [{left}/q1]\n  answer:\n"
    given = replan("answer", "--file", "-", input=text)
    assert (given.exit_code, f"{declined}/q1 is declined" in given.stderr) == (0, True)
    assert still_open(replan) == {f"{left}/q1"}


OF_QUESTION = "4 answers[1].questions[0]"


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("questions: [{run}/q9]\n  answer: x", [OF_QUESTION, "no open question 'q9'"]),
        ("questions: [{run}/q1]\n  answer: x", [OF_QUESTION, "is answered twice"]),
        ("questions: [zzzzzzzz/q1]\n  answer: x", [OF_QUESTION, "no run 'zzzzzzzz'", "--export"]),
        ("questions: [{run}]\n  answer: x", [OF_QUESTION, "is not a question's id"]),
        ("questions: [{other}/q1]\n  answer: '  '", [OF_QUESTION, "the question stays open"]),
        ("questions: [{other}/q1]\n  answer: 3.10", ["5 answers[1].answer", "put the answer in quotes"]),
        ("questions: [{other}/q1]\n  answer: x\n  decline: true", ["6 answers[1].decline", "leave one of the two out"]),
        ("questions: []\n  answer: x", ["4 answers[1].questions"]),
        ("question: {run}/q1\n  answer: x", ["4 answers[1].question", "unknown key", "questions"]),
    ],
)
def test_one_wrong_entry_is_named_with_its_line_and_no_answer_is_recorded(replan, asking, tmp_path, entry, words):
    run, other = asking(), asking()
    text = f"answers:\n- questions: [{run}/q1]\n  answer: good\n- {entry.format(run=run, other=other)}\n"
    file = answers(tmp_path, text)
    assert_refused(replan("answer", "--file", file), f"{file}:{words[0]}", *words[1:])
    assert still_open(replan) == {f"{run}/q1", f"{other}/q1"}


def test_another_answer_than_the_first_stops_the_whole_file(replan, asking, tmp_path):
    answered, other = asking(), asking()
    replan("answer", f"{answered}/q1", "3.11")
    file = answers(tmp_path, f"answers:\n- questions: [{other}/q1, {answered}/q1]\n  answer: '3.12'\n")
    refused = replan("answer", "--file", file)
    assert_refused(refused, f"{file}:2 answers[0].questions[1]", "'3.11'", "the first answer counts")
    assert still_open(replan) == {f"{other}/q1"}


def test_a_file_without_an_answer_and_a_file_beside_an_answer_are_refused(replan, asking, tmp_path):
    run = asking()
    file = answers(tmp_path, f"answers:\n- questions: [{run}/q1]\n  answer:\n")
    assert_refused(replan("answer", "--file", file), "the file has no answer")
    assert_refused(
        replan("answer", f"{run}/q1", "x", "--file", file), "this option cannot be used with other arguments"
    )
    assert_refused(replan("answer", "--file", tmp_path / "none.yaml"), "no such file")
    both = replan("questions", "--export", "--json")
    assert (both.exit_code, "leave one of the two out" in both.stderr) == (2, True)


def test_without_open_questions_the_export_is_an_empty_list(replan, planned):
    planned()
    assert yaml.safe_load(replan("questions", "--export").stdout) == {"answers": []}
