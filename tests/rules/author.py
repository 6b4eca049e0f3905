"""Helpers for the tests of the rules: the shipped rules, functions that write artifacts, and the guards by role."""

import json
from pathlib import Path

from actors.guards import analysis, critique, plan_expansive, plan_medium, plan_minimal, recon, strategy
from actors.rules.model import write
from actors.rules.parsed_request import parse_request
from actors.rules.template_files import build_rules, load_templates
from actors.values.artifacts import Artifact, Clarified, Context

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = load_templates(ROOT / "configs" / "templates")
RULES = build_rules(TEMPLATES)
PROBLEMS = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "configs" / "problems").glob("*.md"))
}
GUARDS = {
    "analysis": [analysis],
    "recon": [recon],
    "strategy": [strategy],
    "plan": [plan_minimal, plan_medium, plan_expansive],
    "critique": [critique],
}


def ask(role, specification, **material):
    """Return the artifact that the rules write for a role."""
    return json.loads(write(role, {"role": role, "specification": specification, **material}, RULES))


def read(specification, **material):
    """Return the parsed request of a text."""
    return parse_request({"specification": specification, **material}, RULES)


def judged(role, value, specification, answers=()):
    """Return the verdicts of the guards for a role, by their names."""
    artifact = Artifact(artifact_id="a1", step=f"g_{role}", content=json.dumps(value))
    context = Context(specification=specification, clarifications=tuple(Clarified("?", answer) for answer in answers))
    return {verdict.guard: verdict for verdict in (module.make({})(artifact, context) for module in GUARDS[role])}


def pipeline(specification, **material):
    """Return the artifacts of all roles in their order, each with the ones before it as dependencies."""
    artifacts = {}
    for role in ("analysis", "recon", "strategy", "plan", "critique"):
        artifacts[role] = ask(role, specification, dependencies=dict(artifacts), **material)
    return artifacts
