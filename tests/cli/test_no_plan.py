"""Runs of a workflow without a plan: they succeed with the artifacts of its leaves, and nothing is called proved."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, RECON
from tests.cli.test_bad_input import assert_refused

WORKFLOW = """
name: look
action_pairs:
  look:
    generator: model
    guard: analysis_valid
    prompt: analysis
  search:
    generator: model
    guard: recon_valid
    prompt: recon
"""


@pytest.fixture
def analysed(replan, problem, scripted, tmp_path):
    """The result of such a run."""
    (tmp_path / "look.yaml").write_text(WORKFLOW)
    model = scripted({"look": [ANALYSIS], "search": [RECON]})
    result = replan("run", problem, "-w", tmp_path / "look.yaml", "-m", model)
    assert result.exit_code == 0, result.output
    return result


def test_the_artifacts_of_the_leaves_are_printed_with_their_guards(analysed):
    lines = analysed.stdout.splitlines()
    assert '  "problem_type": "bug_fix",' in lines
    assert "Accepted by analysis_valid." in lines
    assert "Accepted by recon_valid." in lines
    assert "Proved" not in analysed.stdout
    assert "null" not in lines


def test_there_is_no_plan_to_show(analysed, replan):
    run = run_id(replan)
    assert_refused(replan("show", run, "--plan"), "workflow look", "makes no plan")
    assert_refused(replan("show", run, "--mermaid"), "makes no plan")
    assert json.loads(replan("show", run, "--json").stdout)["plan"] is None
