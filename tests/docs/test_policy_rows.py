"""What the policy page says about rows that cannot fire is true: the shipped guards do not report such findings."""

import ast

from actors.values.findings import Code, ReasonTag
from tests.docs.blocks import ROOT

REPORTERS = ("guards", "plans", "handlers", "templates", "planning")
"""The packages of `actors` that make verdicts and findings."""
NEVER_REPORTED = {Code.TOOL_TRANSIENT, Code.TOOL_PERMANENT}
NEVER_SET = {ReasonTag.TOOL_FAILURE, ReasonTag.GOAL_DEPENDENCY_FAILURE}
"""The tags of what can only happen when a plan is executed."""


def _named(package):
    """Return the members of `Code` and `ReasonTag` that a package names, as `Class.MEMBER`."""
    for path in sorted((ROOT / "actors" / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield path, f"{node.value.id}.{node.attr}"


def test_no_guard_of_planning_reports_a_failed_tool_or_a_failed_goal():
    """S108, S109: the other three tags are set by shipped guards."""
    absent = {f"Code.{code.name}" for code in NEVER_REPORTED} | {f"ReasonTag.{tag.name}" for tag in NEVER_SET}
    reported = [(path.name, name) for package in REPORTERS for path, name in _named(package) if name in absent]
    assert reported == []
    set_tags = {name for _, name in _named("guards") if name.startswith("ReasonTag.")}
    assert set_tags == {f"ReasonTag.{tag.name}" for tag in ReasonTag if tag not in NEVER_SET}
    assert any(name.startswith("Code.") for _, name in _named("guards")), "the guards name no code at all"


def test_no_shipped_workflow_uses_the_expansive_guard_or_a_review():
    paths = sorted((ROOT / "configs" / "workflows").glob("*.yaml"))
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert "plan_expansive" not in text
        assert "human_review" not in text
