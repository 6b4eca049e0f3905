"""`--search` on the command line: branches are run, shown, drawn and priced."""

import json

from tests.cli.samples import ANALYSIS, LOST, RECON
from tests.long.cli.test_messages import STRATEGY

WORKFLOW = """\
name: mine
search: {name: beam, width: 2, branching: 2}
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid}
  g_plan: {generator: model, guard: plan_medium, requires: [g_analysis]}
"""


def test_branches_are_listed_with_the_reasons_of_their_start_and_end(replan, home, problem):
    """S9: an author that always gives the same reply makes duplicate branches, which the run reports."""
    result = replan("run", problem, "-m", "template:bug", "--search", "beam:2", "--no-input", "--json")
    assert json.loads(result.stdout)["outcome"] == "success"
    shown = json.loads(replan("show", "--last", "--tree", "--json").stdout)
    branches = shown["branches"]
    assert [branch["branch"] for branch in branches] == list(range(len(branches)))
    assert {"duplicate", None} == {branch["cause"] for branch in branches}
    assert sum(branch["won"] for branch in branches) == 1
    assert sum(branch["calls"] for branch in branches) == json.loads(result.stdout)["calls"]
    text = replan("show", "--last", "--tree").stdout
    assert "branch 1 on branch 0: one more branch continues from here" in text
    assert "pruned (duplicate): branch 0 has the same artifacts" in text
    assert "branch 1 opened from branch 0" in replan("show", "--last", "--events").stdout


def test_a_search_with_one_branch_lists_none(replan, home, problem):
    replan("run", problem, "-m", "template:bug", "--no-input")
    assert json.loads(replan("show", "--last", "--tree", "--json").stdout)["branches"] == []
    assert "branch" not in replan("show", "--last", "--tree").stdout


def test_the_advice_fits_a_search_that_never_goes_back(replan, problem, scripted):
    script = {"g_analysis": [ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [LOST] * 5}
    for search, step, other in (
        ("linear", "a search that goes back", "budgets"),
        ("restart:1", "goes back", "budgets"),
    ):
        result = replan("run", problem, "-m", scripted(script), "--search", search, "--no-input")
        assert result.exit_code == 3, result.output
        assert "No plan: all_pruned" in result.stdout
        assert "This workflow does not go back." in result.stdout
        advice = next(line for line in result.stdout.splitlines() if line.startswith("Next: "))
        assert step in advice
        assert other not in advice


def test_workflow_commands_show_the_search(replan, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(WORKFLOW)
    assert "search: beam:2x2\n" in replan("workflow", "show", path).stdout
    assert 'search{{"search: beam:2x2"}}' in replan("workflow", "graph", path).stdout
    cost = json.loads(replan("workflow", "cost", path, "-m", "template:bug", "--json").stdout)
    assert (cost["search"], cost["branches_max"], cost["calls_worst"], cost["calls_max"]) == ("beam:2x2", 8, 48, 30)
    assert "beam:2x2, 8 branches at most" in replan("workflow", "cost", path, "-m", "template:bug").stdout
