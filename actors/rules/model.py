"""The model `rules`: it answers a request by reading its material with rules and writing from templates.

It is deterministic, works offline and costs nothing. It understands no language: it knows the phrases, patterns and
templates of `configs/templates/`, quotes only what stands in the text, and asks when a text is too thin to plan from.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import trio

from actors.policy.cause import CLASSIFIER, Cause
from actors.rules.critique import critique_artifact
from actors.rules.data import rules_of
from actors.rules.plan import plan_artifact
from actors.rules.reading import Reading, constraints_of, read_request
from actors.rules.slots import area_of, first, names
from actors.rules.strategy import strategy_artifact
from actors.rules.tables import Rules
from runtime.core.cost import Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply


class RulesModel:
    """A model without a model: `templates` is what `load_templates` gave.

    A request's `material` names the `role` (a key of `AUTHORS`), the `specification`,
    `clarifications`, `requirements`, `notes`, accepted `dependencies` by role, `retry` and `escalation` feedback, and
    `settings` (`r_max`, `guard_catalog`, `assurance`, `escalations`). An unknown role is the fault `BAD_REQUEST`.

    Raises:
        UsageProblem: on templates that cannot be used.
    """

    def __init__(self, templates: Mapping[str, Any]) -> None:
        self._rules = rules_of(templates)

    @property
    def name(self) -> str:
        """The model's name."""
        return "rules"

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the artifact as JSON text, with a usage of no tokens."""
        await trio.lowlevel.checkpoint()
        role = request.material.get("role")
        if not isinstance(role, str) or role not in AUTHORS:
            known = ", ".join(AUTHORS)
            return Fault(
                kind=FaultKind.BAD_REQUEST, message=f"the model `rules` has no role {role!r}; it knows {known}"
            )
        text = write(role, request.material, self._rules)
        return Reply(text=text, usage=Usage(), model=self.name)

    async def aclose(self) -> None:
        """There is nothing to close."""
        await trio.lowlevel.checkpoint()


def write(role: str, material: Mapping[str, Any], rules: Rules) -> str:
    """Return the JSON text of a role's artifact. Raises `KeyError` for an unknown role."""
    artifact = AUTHORS[role](read_request(material, rules), rules)
    return orjson.dumps(artifact, option=orjson.OPT_INDENT_2).decode()


def analysis_artifact(reading: Reading, rules: Rules) -> dict[str, Any]:
    """Return the analysis; for each escalation, that of the next best kind."""
    found = reading.classification
    kind = found.kind(reading.escalations)
    backed = [other for other in found.ranking if other != kind and found.scores[other] > 0]
    quoted = names([f'"{signal}"' for signal in found.signals[kind][:3]])
    slots = {
        "kind": rules.phrases.kind(kind),
        "second": rules.phrases.kind(backed[0]) if backed else "",
        "signals": quoted,
    }
    return {
        "problem_type": kind,
        "language": reading.language,
        "severity": found.severity,
        "key_signals": list(found.signals[kind] or (reading.facts.title or rules.phrases.nameless,)),
        "affected_area": area_of(reading.facts, rules) or reading.facts.title or rules.phrases.nameless,
        "rationale": first(rules.phrases.rationale, slots),
        "open_questions": reading.questions(rules),
    }


def recon_artifact(reading: Reading, _: Rules) -> dict[str, Any]:
    """Return what stands in the text."""
    facts = reading.facts
    return {
        "mentioned_files": list(facts.files),
        "stack_traces": [trace.text for trace in facts.traces],
        "apis_involved": list(facts.apis),
        "test_references": list(facts.tests),
        "reproduction_steps": list(facts.steps),
        "constraints_mentioned": list(constraints_of(reading, facts.constraints)),
        "open_questions": [],
    }


def unclear(_: Reading, __: Rules) -> dict[str, Any]:
    """Return that a cause cannot be told: what rules know of failures is in the policy's table already."""
    return {"cause": str(Cause.UNCLEAR)}


AUTHORS: Mapping[str, Callable[[Reading, Rules], dict[str, Any]]] = {
    "analysis": analysis_artifact,
    "recon": recon_artifact,
    "strategy": strategy_artifact,
    "plan": plan_artifact,
    "critique": critique_artifact,
    CLASSIFIER: unclear,
}
