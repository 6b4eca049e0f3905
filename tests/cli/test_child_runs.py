"""Child runs on the command line: they can be read; commands that write go to the parent."""

import json

import pytest

from tests.cli.samples import PLAN, delayed_reply
from tests.cli.test_bad_input import assert_refused
from tests.cli.test_processes import wait_until

ABOVE = """
name: above
action_pairs:
  g_plan: {generator: "workflow:./below.yaml", guard: plan_medium}
"""
BELOW = """
name: below
action_pairs:
  c_plan: {generator: model, guard: plan_medium}
"""


@pytest.fixture
def child(shell, replan, problem, scripted, tmp_path):
    """The id of a child run that waits for a reply; its driver was killed."""
    (tmp_path / "above.yaml").write_text(ABOVE)
    (tmp_path / "below.yaml").write_text(BELOW)
    script = scripted({"c_plan": [delayed_reply(PLAN, seconds=60.0)]})
    children = []

    def child_waits():
        runs = json.loads(replan("runs", "--json").stdout)["runs"]
        tree = replan("show", runs[0]["run_id"], "--tree", "--json").stdout if runs else ""
        children.extend(node["child"] for node in (json.loads(tree)["nodes"] if tree else []))
        return children and "asked for" in replan("log", children[0]).stdout

    with shell("run", problem, "-w", tmp_path / "above.yaml", "-m", script) as process:
        wait_until(child_waits, "the child waits for a reply")
        process.kill()
    return children[0]


def test_commands_to_a_child_are_refused_and_name_the_parent(replan, child):
    """One line, exit 2, and nothing written; reading commands accept the child's id."""
    top, log = child.partition(".")[0], replan("log", child).stdout
    for command in (("resume",), ("cancel",), ("tell", "Hurry.")):
        words = f"{child}: the run is a step of run {top}, which alone goes on with it"
        assert_refused(replan(command[0], child, *command[1:]), words, f"{command[0]} {top}")
    assert_refused(replan("answer", f"{child}/q1", "yes"), f"questions {top}")
    assert replan("log", child).stdout == log
    assert replan("show", child).stderr.strip().endswith(f"resume {top}")
    assert [row["run_id"] for row in json.loads(replan("runs", "--json").stdout)["runs"]] == [top]
