"""`lab pddl run -m planner:ENGINE`: a planner of unified-planning names the actions, and the guards prove the plan."""

import json

import pytest

import replan as library
from packages.lab.tests.pddl.worlds import BLOCKS, PARCEL, ROOMS, TWO
from replan_lab.pddl.domain_reader import PddlTexts
from replan_lab.pddl.planning import problem_text, workflow_path

CERTAIN = (
    ROOMS.replace("(oneof (carries ?r) (and))", "(carries ?r)")
    .replace("(oneof (wet ?r) (not (wet ?r)))", "(wet ?r)")
    .replace(" :non-deterministic", "")
)
"""Rooms without `oneof`, which unified-planning does not read."""


@pytest.fixture
def plan_with(replan, tmp_path):
    """Return a function that plans for a domain and a problem with a planner."""

    def plan(domain, problem, model="planner:pyperplan"):
        (tmp_path / "d.pddl").write_text(domain)
        (tmp_path / "p.pddl").write_text(problem)
        task = (tmp_path / "d.pddl", tmp_path / "p.pddl")
        return replan("lab", "pddl", "run", *task, "-m", model, "--no-input", "--json")

    return plan


@pytest.mark.parametrize(
    ("domain", "problem", "names"),
    [
        (BLOCKS, TWO, ["(unstack b a)", "(put-down b)", "(pick-up a)", "(stack a b)"]),
        (CERTAIN, PARCEL, ["(take w)", "(move w k h)"]),
    ],
    ids=["equality", "conditional effects"],
)
def test_the_plan_of_a_planner_is_proved_without_a_token(plan_with, domain, problem, names):
    """Pyperplan takes neither negative conditions nor these two; the library turns them into what it takes."""
    result = plan_with(domain, problem)
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["outcome"], shown["calls"], shown["tokens"]) == (0, "success", 1, 0)
    assert [step["step_id"].partition(" ")[2] for step in shown["plan"]["steps"]] == names


def test_any_installed_planner_that_fits_is_taken(plan_with):
    assert json.loads(plan_with(BLOCKS, TWO, "planner:").stdout)["outcome"] == "success"


@pytest.mark.parametrize(
    ("domain", "problem", "why"),
    [
        (BLOCKS, TWO.replace("(not (holding b))", "(holding a)"), "the planner found no plan"),
        (ROOMS, PARCEL, "Expected ')', found '('"),
    ],
    ids=["no plan", "oneof"],
)
def test_a_run_is_parked_where_the_planner_brings_nothing_and_says_why(plan_with, domain, problem, why):
    """It can be resumed with another planner, or with a language model."""
    result = plan_with(domain, problem)
    assert (result.exit_code, json.loads(result.stdout)["status"]) == (4, "parked")
    assert why in result.stdout


def test_a_planner_that_is_not_installed_is_refused_with_those_that_are(plan_with):
    result = plan_with(BLOCKS, TWO, "planner:nope")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["cause"], error["place"]) == (2, "there is no planner 'nope'", "--model")
    assert "pyperplan" in error["hint"]


def test_a_planner_takes_no_problem_in_words(replan, tmp_path):
    (tmp_path / "p.md").write_text("The login fails with a timeout.")
    result = replan("run", tmp_path / "p.md", "-m", "planner:pyperplan", "--no-input")
    assert (result.exit_code, "a planner only plans problems in PDDL" in result.stderr) == (4, True)


def test_the_library_takes_the_texts_of_a_domain_and_a_problem():
    """What is refused names the text and the line, or the keyword."""
    problem = problem_text(PddlTexts(BLOCKS, TWO))
    found = library.solve(problem, workflow=workflow_path(), model="planner:pyperplan", home=library.MEMORY)
    assert (found.succeeded, found.calls, len(found.plan.steps)) == (True, 1, 4)
    wrong = {
        "domain:": (BLOCKS.replace("(holding ?x) (clear ?y)", "(or (holding ?x) (clear ?y))"), TWO),
        "domain: the text has more than": (BLOCKS + " " * 5_000_000, TWO),
        "problem: the goal already holds": (BLOCKS, TWO.replace("(on a b)", "(on b a)")),
    }
    for text, pddl in wrong.items():
        with pytest.raises(library.UsageProblem, match=text):
            problem_text(PddlTexts(*pddl))
