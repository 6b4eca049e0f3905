"""Diagrams of workflows have every step and edge once, dashed escalation edges, and escaped labels."""

import re
from pathlib import Path

import pytest

from actors.config.diagram import mermaid
from actors.config.loader import read_workflow, shipped_workflows
from actors.config.workflow import Workflow

ROOT = Path(__file__).resolve().parents[2]


def test_the_default_workflow_as_mermaid():
    workflow, _, _ = read_workflow("search", ROOT)
    assert mermaid(workflow) == (
        "flowchart LR\n"
        '    s_g_analysis["g_analysis<br/>analysis_valid<br/>2 attempts, 5 back"]\n'
        '    s_g_recon["g_recon<br/>all_of: recon_valid, requirements_agree<br/>2 attempts, 6 back"]\n'
        '    s_g_strategy["g_strategy<br/>all_of: strategy_valid, fits_problem_type, evidence_present<br/>'
        '2 attempts, 12 back"]\n'
        '    s_g_plan(["g_plan<br/>all_of: plan_medium, requirements_covered, evidence_present, follows_strategy<br/>'
        '3 attempts"])\n'
        "    s_g_analysis --> s_g_strategy\n"
        "    s_g_recon --> s_g_strategy\n"
        "    s_g_analysis --> s_g_plan\n"
        "    s_g_recon --> s_g_plan\n"
        "    s_g_strategy --> s_g_plan\n"
        "    s_g_strategy -.-> s_g_analysis\n"
        "    s_g_strategy -.-> s_g_recon\n"
        "    s_g_plan -.-> s_g_analysis\n"
        "    s_g_plan -.-> s_g_recon\n"
        "    s_g_plan -.-> s_g_strategy\n"
    )


@pytest.mark.parametrize("name", shipped_workflows(ROOT))
def test_every_step_and_edge_occurs_once(name):
    workflow, _, _ = read_workflow(name, ROOT)
    edges = {(upper, step) for step, pair in workflow.action_pairs.items() for upper in pair.requires}
    assert sorted(re.findall(r"s_(\w+) --> s_(\w+)", mermaid(workflow))) == sorted(edges)
    assert re.findall(r"^    s_(\w+)[\[(]", mermaid(workflow), re.MULTILINE) == list(workflow.graph.order)


def test_escalation_edges_go_to_the_targets_of_a_step():
    workflow = Workflow.model_validate(
        {
            "name": "w",
            "action_pairs": {
                "a": {"generator": "g", "guard": "h", "backtrack_budget": 1},
                "b": {"generator": "PlanGenerator", "guard": "h", "requires": ["a"], "backtrack_budget": 1},
                "c": {"generator": "g", "guard": "h", "requires": ["b"], "backtrack_budget": 1},
                "d": {"generator": "g", "guard": "h", "requires": ["c"], "escalate_by_guard": {"h": ["a"]}},
            },
        }
    )
    assert re.findall(r"s_(\w) -\.-> s_(\w)", mermaid(workflow)) == [("b", "a"), ("d", "a")]
    assert "no model call" in mermaid(workflow)


def test_labels_are_escaped():
    guard = '"] end; click <script> & `x` #quot; \\" \n %% {all}'
    workflow = Workflow.model_validate({"name": guard, "action_pairs": {"end": {"generator": "g", "guard": guard}}})
    (line,) = [line for line in mermaid(workflow).splitlines() if "s_end" in line]
    inner = line.removeprefix('    s_end(["').removesuffix('"])')
    assert '"' not in inner
    assert "<script" not in inner
    assert "`" not in inner
    assert len(mermaid(workflow).splitlines()) == 2


def test_composites_are_named_with_their_members():
    workflow = Workflow.model_validate(
        {"name": "w", "action_pairs": {"a": {"generator": "g", "guard": {"all_of": ["x", "y"]}}}}
    )
    assert "all_of: x, y" in mermaid(workflow)
