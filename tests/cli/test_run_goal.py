"""`run --tools FILE --goal TOKENS`: a plan from the steps that tools declare, without a model, proved and executed."""

import json

import pytest

import replan as library
from tests.cli.conftest import SCRIPT
from tests.cli.test_bad_input import assert_refused

TOOLS = """\
tools:
  look: {{command: [echo, "state: {state}"], risk: none, repeatable: true}}
  make:
    command: [touch, "{{file}}"]
    parameters: {{file: {{type: path}}}}
    risk: none
    repeatable: true
  check: {{command: [test, -e, mended.txt], risk: none, repeatable: true}}
generators:
  inspect:
    tool: look
    outcomes: {{broken: broken, fine: fine}}
    step:
      preconditions: [repository]
      outcomes: {{broken: {{effects: [known_bad]}}, fine: {{effects: [works]}}}}
  mend:
    tool: make
    with: {{file: mended.txt}}
    step: {{preconditions: [known_bad], effects: [works], delete_effects: [known_bad], guard: is_mended}}
  publish:
    tool: make
    with: {{file: published.txt}}
    step: {{preconditions: [works], effects: [published]}}
guards:
  is_mended: check
"""


@pytest.fixture
def tools(tmp_path):
    (tmp_path / "work").mkdir()

    def written(text=TOOLS, state="broken"):
        (tmp_path / "tools.yaml").write_text(text.format(state=state))
        return ("--tools", tmp_path / "tools.yaml")

    return written


def test_a_goal_is_planned_without_a_model_and_proved_in_every_outcome(replan, tools):
    result = replan("run", *tools(), "--goal", "published", "--holds", "repository", "--no-input", "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["outcome"], shown["calls"], shown["tokens"]) == (0, "success", 0, 0)
    assert [step["step_id"] for step in shown["plan"]["steps"]] == ["inspect", "mend", "publish"]
    assert shown["plan"]["initial_state"] == ["repository"]
    said = replan("show", shown["run_id"]).stdout
    assert "Proved at level expansive" in said, said


@pytest.mark.parametrize(("state", "made"), [("broken", ["mended.txt", "published.txt"]), ("fine", ["published.txt"])])
def test_do_executes_the_plan_on_the_way_that_the_outcome_asks_for(replan, tools, tmp_path, state, made):
    words = ("--goal", "published", "--holds", "repository", "--workspace", tmp_path / "work", "--no-input")
    result = replan("do", *tools(state=state), *words)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == made
    assert "Finished: success" in result.stdout


def test_the_plan_of_the_run_is_executed_later_and_planned_anew_where_it_fails(replan, tools, tmp_path):
    named = tools(TOOLS.replace("with: {{file: mended.txt}}", "with: {{file: other.txt}}"))
    result = replan("run", *named, "--goal", "published", "--holds", "repository", "--no-input", "--json")
    run = json.loads(result.stdout)["run_id"]
    file = tmp_path / "tools.yaml"
    replace = (
        "  replace: {tool: make, with: {file: mended.txt}, step: {preconditions: [known_bad], effects: [works]}}\n"
    )
    file.write_text(file.read_text().replace("guards:\n", f"{replace}guards:\n"))
    words = ("--workspace", tmp_path / "work", "--no-input")
    done = replan("execute", run, *named, *words)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["mended.txt", "other.txt", "published.txt"]
    assert "replace" in done.stdout


def test_the_library_plans_for_a_goal_and_does_it(tools, tmp_path, home):
    _, file = tools()
    found = library.solve(goal="published", holds=["repository"], tools=file, home=library.MEMORY)
    assert (found.succeeded, found.calls) == (True, 0)
    done = library.do(goal=["published"], holds="repository", tools=file, workspace=tmp_path / "work", home=home)
    assert done.succeeded
    with pytest.raises(library.UsageProblem, match=r"goal: no tool makes 'publish'.*did you mean 'published'"):
        library.solve(goal="publish", tools=file, home=library.MEMORY)
    with pytest.raises(library.UsageProblem, match="goal: both a problem and a goal are given"):
        library.solve("A text.", goal="published", tools=file, home=library.MEMORY)
    with pytest.raises(library.UsageProblem, match="holds: this argument has an effect only with a goal"):
        library.solve("A text.", holds="repository", tools=file, home=library.MEMORY)


REFUSED = {
    "a token that nothing makes": (("--goal", "publishd"), "--goal: no tool makes 'publishd'", "'published'?"),
    "what is not given": (("--goal", "published"), "because nothing makes 'repository'", "--holds repository"),
    "an unknown token": (
        ("--goal", "works", "--holds", "repositry"),
        "--holds: no tool declares a step",
        "'repository'?",
    ),
    "an empty goal": (("--goal", " , "), "--goal: the goal has no token", ""),
    "a problem too": (("p.md", "--goal", "works"), "--goal: both a goal and a problem are given", "leave one"),
    "no goal": (("--holds", "works"), "--holds: this option has an effect only with --goal", ""),
    "neither": ((), "PROBLEM: this argument is missing", "run --help"),
    "files": (("--goal", "works", "--attach", "a.md"), "--attach: this option cannot be used with --goal", ""),
    "a workflow that does not": (("--goal", "works", "-w", "single"), "has the generator `ToolPlanGenerator`", ""),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_planned_is_refused_in_one_line_before_a_run_is_made(replan, tools, home, name):
    words, *texts = REFUSED[name]
    assert_refused(replan("run", *words, *tools()), *texts, home=home)


def test_tools_that_declare_no_step_are_refused(replan, tools, home):
    text = "tools: {{look: {{command: [echo, x]}}}}\ngenerators: {{inspect: look}}\n"
    assert_refused(replan("run", "--goal", "x", *tools(text)), "tools.yaml: no generator declares a step", home=home)


WRONG = {
    "an unknown guard": ("guard: is_mended}}", "guard: is_mendet}}", "step.guard: there is no guard 'is_mendet'"),
    "an outcome that is not read": (
        "outcomes: {{broken: {{eff",
        "outcomes: {{brokn: {{eff",
        "no pattern for the outcome 'brokn'",
    ),
    "a key": ("delete_effects: [known_bad]", "deletes: [known_bad]", "unknown key 'deletes'"),
    "a comma": ("[published]", '["a,b"]', "step.effects"),
    "a guard with a step": (
        "is_mended: check",
        "is_mended: {{tool: check, step: {{}}}}",
        "only a binding under `generat",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_declaration_is_refused_with_its_line(replan, tools, name):
    right, wrong, text = WRONG[name]
    assert right in TOOLS
    words = ("--goal", "published", "--holds", "repository", *tools(TOOLS.replace(right, wrong)))
    assert_refused(replan("run", *words), "tools.yaml:", text)


def test_with_a_problem_the_plan_may_only_name_what_the_tools_implement(replan, tools, problem, scripted):
    result = replan("run", problem, "-m", scripted(SCRIPT), *tools(), "--no-input", "--json", "--max-calls", "4")
    assert result.exit_code == 5
    assert (
        "no tool implements the guard 'human'; choose one of 'is_mended'" in replan("show", "--last", "--tree").stdout
    )
