"""Runs of a workflow that makes no plan: they succeed with what it does make, and nothing of it is called proved."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, RECON
from tests.cli.test_bad_input import refused

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
def looked(replan, problem, scripted, tmp_path):
    """The result of such a run."""
    (tmp_path / "look.yaml").write_text(WORKFLOW)
    model = scripted({"look": [ANALYSIS], "search": [RECON]})
    done = replan("run", problem, "-w", tmp_path / "look.yaml", "-m", model)
    assert done.exit_code == 0, done.output
    return done


def test_the_artifacts_of_the_leaves_are_printed_with_their_guards(looked):
    lines = looked.stdout.splitlines()
    assert '  "problem_type": "bug_fix",' in lines
    assert "Accepted by analysis_valid." in lines
    assert "Accepted by recon_valid." in lines
    assert "Proved" not in looked.stdout
    assert "null" not in lines


def test_there_is_no_plan_to_show(looked, replan):
    run = run_id(replan)
    refused(replan("show", run, "--plan"), "workflow look", "makes no plan")
    refused(replan("show", run, "--mermaid"), "makes no plan")
    assert json.loads(replan("show", run, "--json").stdout)["plan"] is None
