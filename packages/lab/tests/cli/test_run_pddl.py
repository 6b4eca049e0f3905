"""`lab pddl`: a model names actions or a plan is given, the domain says what they do, and guards judge."""

import json

import pytest

from packages.lab.tests.pddl.worlds import BLOCKS, PARCEL, ROOMS, SWAP, TWO
from replan_lab.pddl.planning import workflow_path
from tests.cli.conftest import write_script
from tests.cli.test_bad_input import assert_refused

WRONG = {"reasoning": "", "actions": ["(unstack b a)", "(pick-up a)", "(stack a b)"]}
RIGHT = {"reasoning": "", "actions": ["unstack b a", "put-down(B)", "(pick-up a)", "(stack a b)"]}


@pytest.fixture
def task(tmp_path):
    """Write a domain and a problem; return the paths of their files, as arguments of the command."""
    (tmp_path / "d.pddl").write_text(f"; you must not use more than two steps\n{BLOCKS}")
    (tmp_path / "p.pddl").write_text(TWO)
    return (tmp_path / "d.pddl", tmp_path / "p.pddl")


def found(replan, task, script, *more):
    """Run with the answers of a script; return the exit code and the object that is printed."""
    result = replan("lab", "pddl", "run", *task, "-m", script, "--no-input", "--json", *more)
    return result.exit_code, json.loads(result.stdout)


def test_a_rejected_answer_is_fed_back_and_the_next_one_becomes_a_proved_plan(replan, task, tmp_path):
    code, shown = found(replan, task, write_script(tmp_path, {"g_actions": [WRONG, RIGHT]}))
    assert (code, shown["outcome"], shown["calls"]) == (0, "success", 2)
    steps = shown["plan"]["steps"]
    assert [step["step_id"] for step in steps] == [f"{n} {line}" for n, line in enumerate(_actions(SWAP), 1)]
    assert steps[3]["preconditions"] == ["(clear b)", "(holding a)"]
    assert shown["plan"]["goal_state"] == ["(not (holding b))", "(on a b)"]
    said = replan("show", shown["run_id"]).stdout
    assert ("Proved at level medium" in said, "No demand was found" in said) == (True, True)
    tree = replan("show", shown["run_id"], "--tree").stdout
    assert "step 2 (pick-up a): needs '(handempty)': an earlier action ends it." in tree
    prompt = replan("show", shown["run_id"], "--prompt", "g_actions/v1.a2").stdout
    assert "(:action unstack :parameters (?x ?y - block)" in prompt
    assert "more than two steps" not in prompt
    assert "needs '(handempty)': an earlier action ends it." in prompt
    (tmp_path / "plan.json").write_text(json.dumps(shown["plan"]))
    assert replan("check", tmp_path / "plan.json", "--guard", "domain").exit_code == 0


def _actions(text):
    return [line.partition(" ;")[0] for line in text.splitlines()]


def test_actions_with_outcomes_become_steps_with_outcomes(replan, tmp_path):
    (tmp_path / "d.pddl").write_text(ROOMS)
    (tmp_path / "p.pddl").write_text(PARCEL)
    answer = {"actions": ["(try-to-take w)", "(move w k h)"]}
    task = (tmp_path / "d.pddl", tmp_path / "p.pddl")
    code, shown = found(replan, task, write_script(tmp_path, {"g_actions": [answer]}))
    assert code == 0
    assert [outcome["name"] for outcome in shown["plan"]["steps"][0]["outcomes"]] == ["outcome 1", "outcome 2"]


ANSWERS = {
    "a list": (["(pick-up a)"], "field.not_object"),
    "no actions": ({"plan": []}, "field.missing"),
    "a text of actions": ({"actions": "(pick-up a)"}, "field.type"),
    "an action that is none": ({"actions": [["pick-up", "a"]]}, "field.type"),
    "an empty action": ({"actions": ["()"]}, "field.type"),
    "an unknown action": ({"actions": ["(fly a)"]}, "plan.unbound"),
    "no way to the goal": ({"actions": []}, "plan.goal_unreachable"),
    "too many": ({"actions": ["(pick-up a)"] * 5001}, "field.too_large"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_holds_no_solution_is_rejected_with_its_reason(replan, task, tmp_path, name):
    answer, code = ANSWERS[name]
    exit_code, shown = found(replan, task, write_script(tmp_path, {"g_actions": [answer, RIGHT]}))
    assert (exit_code, shown["calls"]) == (0, 2)
    assert code in replan("show", shown["run_id"], "--tree").stdout


def test_without_a_solution_the_run_ends_with_exit_3_after_its_attempts(replan, task, tmp_path):
    code, shown = found(replan, task, write_script(tmp_path, {"g_actions": [WRONG] * 30}))
    assert (code, shown["plan"]) == (3, None)


def test_a_run_goes_on_from_its_journal_alone(replan, task, tmp_path):
    """The files are not read again."""
    script = write_script(tmp_path, {"g_actions": [WRONG, RIGHT]})
    code, shown = found(replan, task, script, "--max-calls", "1")
    assert (code, shown["outcome"]) == (5, "budget_exhausted")
    for file in task:
        file.unlink()
    result = replan("resume", shown["run_id"], "--max-calls", "5", "--no-input", "--json")
    assert (result.exit_code, json.loads(result.stdout)["outcome"]) == (0, "success")


@pytest.mark.parametrize(
    ("more", "cause"),
    [
        (["-m", "template:bug"], "--model: the model `template:bug` cannot read PDDL"),
        (["-m", "gpt-5-mini", "-w", "single"], "no step of the workflow 'single'"),
    ],
)
def test_a_model_that_reads_no_texts_and_a_workflow_without_actions_are_refused(replan, task, more, cause):
    assert_refused(replan("lab", "pddl", "run", *task, *more), cause)


def test_actions_for_a_problem_in_words_are_rejected_with_the_command_for_pddl(replan, problem, tmp_path):
    script = write_script(tmp_path, {"g_actions": [RIGHT] * 30})
    done = replan("run", problem, "-m", script, "-w", workflow_path(), "--no-input")
    assert (done.exit_code, "start it with `replan lab pddl run`" in done.stderr) == (3, True)


def test_what_is_refused_in_a_domain_or_a_problem_names_its_file(replan, task, home):
    run = ("lab", "pddl", "run", *task, "-m", "gpt-5-mini")
    task[1].write_text(TWO.replace("(on a b)", "(on b a)"))
    assert_refused(replan(*run), "p.pddl: the goal already holds at the beginning", home=home)
    task[0].write_text(BLOCKS.replace("(holding ?x) (clear ?y)", "(or (holding ?x) (clear ?y))"))
    assert_refused(replan(*run), "d.pddl:13: `or` is not supported")


BAD = "; from a model\n(unstack b a)\n(pick-up a)\n(stack a b)\n"


@pytest.fixture
def files(tmp_path):
    """A folder with a domain, a problem and plans."""
    for name, text in {
        "d.pddl": BLOCKS,
        "p.pddl": TWO,
        "good.txt": SWAP,
        "bad.txt": BAD,
        "no.txt": "unstack b a",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def check(replan, files, *plans, **settings):
    return replan("lab", "pddl", "check", files / "d.pddl", files / "p.pddl", *plans, **settings)


def test_a_valid_plan_is_exit_0_and_a_rejected_one_3(replan, files, home):
    assert check(replan, files, files / "good.txt").exit_code == 0
    assert check(replan, files, files / "good.txt", files / "bad.txt").exit_code == 3
    assert check(replan, files, files / "bad.txt", files / "no.txt", files / "good.txt").exit_code == 2
    assert not home.exists()


def test_the_object_has_the_first_action_that_cannot_run(replan, files):
    result = check(replan, files, files / "bad.txt", "--json")
    shown = json.loads(result.stdout)
    assert shown["first_failing_step"] == {"step": 2, "action": "(pick-up a)", "line": 3, "unmet": ["(handempty)"]}
    assert shown["findings"][0] == {
        "code": "plan.precondition_deleted",
        "severity": "error",
        "message": "step 2 (pick-up a): needs '(handempty)': an earlier action ends it. "
        "(put-down b) makes '(handempty)', and then nothing else is lacking. "
        "(stack b a) makes '(handempty)', and can run there.",
        "step_id": "2 (pick-up a)",
        "line": 3,
        "tokens": ["(handempty)"],
    }
    assert (shown["valid"], shown["actions"]) == (False, 3)
    assert shown["repairs"] == [
        {"action": "(put-down b)", "makes": "(handempty)", "runs": True, "enough": True},
        {"action": "(stack b a)", "makes": "(handempty)", "runs": True, "enough": False},
    ]


def test_the_report_and_annotations_name_it_with_its_line(replan, files):
    assert "first action that cannot run: 2 (pick-up a), line 3" in check(replan, files, files / "bad.txt").stdout
    told = check(replan, files, files / "bad.txt", "--format", "github").stdout
    assert f"::error file={files / 'bad.txt'},line=3,title=plan.precondition_deleted::" in told


def test_a_plan_comes_from_standard_input(replan, files):
    assert check(replan, files, "-", input=SWAP).exit_code == 0


def test_goals_that_do_not_hold_at_the_end_are_listed(replan, files):
    (files / "short.txt").write_text("(unstack b a)\n(put-down b)\n")
    shown = json.loads(check(replan, files, files / "short.txt", "--json").stdout)
    assert (shown["unmet_goals"], "first_failing_step" in shown) == (["(on a b)"], False)


@pytest.mark.parametrize("option", [("--guard", "g"), ("--r-max", "5")])
def test_settings_that_plans_in_pddl_do_not_have_are_refused(replan, files, option):
    assert_refused(check(replan, files, files / "good.txt", *option), option[0])
