"""Runs that are steps of others, as the command line meets them: it reads them, and orders go to the run above."""

import json

import pytest

from tests.cli.samples import PLAN, said
from tests.cli.test_bad_input import refused
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
def step(shell, replan, problem, scripted, tmp_path):
    """A run that was killed while its step's own run waited for a reply; the id of that one."""
    (tmp_path / "above.yaml").write_text(ABOVE)
    (tmp_path / "below.yaml").write_text(BELOW)
    script = scripted({"c_plan": [said(PLAN, seconds=60.0)]})
    found = []

    def asked():
        runs = json.loads(replan("runs", "--json").stdout)["runs"]
        tree = replan("show", runs[0]["run_id"], "--tree", "--json").stdout if runs else ""
        found.extend(node["child"] for node in (json.loads(tree)["nodes"] if tree else []))
        return found and "asked for" in replan("log", found[0]).stdout

    with shell("run", problem, "-w", tmp_path / "above.yaml", "-m", script) as process:
        wait_until(asked, "the step's own run asks")
        process.kill()
    return found[0]


def test_orders_are_given_to_the_run_above(replan, step):
    """One clear line, exit 2, and nothing written; what only reads takes the id, and says what goes on."""
    top, log = step.partition(".")[0], replan("log", step).stdout
    for order in (("resume",), ("cancel",), ("tell", "Hurry.")):
        words = f"{step}: the run is a step of run {top}, which alone goes on with it"
        refused(replan(order[0], step, *order[1:]), words, f"{order[0]} {top}")
    refused(replan("answer", f"{step}/q1", "yes"), f"questions {top}")
    assert replan("log", step).stdout == log
    assert replan("show", step).stderr.strip().endswith(f"resume {top}")
    assert [row["run_id"] for row in json.loads(replan("runs", "--json").stdout)["runs"]] == [top]
