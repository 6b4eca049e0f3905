"""`lab pddl check`: sequential plans for problems in PDDL, with the first action that cannot run."""

import json

import pytest

from tests.cli.test_bad_input import assert_refused
from tests.pddl.worlds import BLOCKS, SWAP, TWO

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


def test_the_report_names_it_with_its_line(replan, files):
    result = check(replan, files, files / "bad.txt")
    assert "first action that cannot run: 2 (pick-up a), line 3" in result.stdout


def test_annotations_point_at_the_line_of_the_action(replan, files):
    result = check(replan, files, files / "bad.txt", "--format", "github")
    assert f"::error file={files / 'bad.txt'},line=3,title=plan.precondition_deleted::" in result.stdout


def test_a_plan_comes_from_standard_input(replan, files):
    assert check(replan, files, "-", input=SWAP).exit_code == 0


def test_goals_that_do_not_hold_at_the_end_are_listed(replan, files):
    (files / "short.txt").write_text("(unstack b a)\n(put-down b)\n")
    shown = json.loads(check(replan, files, files / "short.txt", "--json").stdout)
    assert (shown["unmet_goals"], "first_failing_step" in shown) == (["(on a b)"], False)


@pytest.mark.parametrize("option", [("--guard", "g"), ("--r-max", "5")])
def test_settings_that_plans_in_pddl_do_not_have_are_refused(replan, files, option):
    assert_refused(check(replan, files, files / "good.txt", *option), option[0])
