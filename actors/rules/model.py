"""The model `rules`: it answers requests with phrases, patterns and templates, deterministically and offline.

It does not understand language: it searches for the phrases of `configs/templates/`, quotes the text literally, and
asks a question if the text is too short to plan from.
"""

from collections.abc import Callable, Mapping
from typing import Any

import orjson
import trio

from actors.policy.cause import CLASSIFIER, Cause
from actors.rules.acquisition import AUTHORS as ACQUISITION_AUTHORS
from actors.rules.acquisition import acquisition_reply
from actors.rules.critique import critique_artifact
from actors.rules.facts import ITEMS_MAX
from actors.rules.parsed_request import ParsedRequest, parse_request
from actors.rules.plan import plan_artifact
from actors.rules.slots import KEPT, area_of, first, names, texts_of
from actors.rules.strategy import strategy_artifact
from actors.rules.tables import RulesTables
from actors.rules.template_files import build_rules
from actors.values.requirements import requirement_to_json
from runtime.core.ledger import Usage
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply


class RulesModel:
    """The model `rules`.

    It uses a request's `material`: the `role` (a key of `AUTHORS`), the `specification`, `clarifications`,
    `requirements`, `notes`, accepted `dependencies` by role, `retry` and `escalation` feedback, and the `settings`
    `r_max`, `guard_catalog`, `assurance` and `escalations`. The roles of acquisition runs use what
    `actors.rules.acquisition` says. An unknown role is the fault `BAD_REQUEST`.
    """

    def __init__(self, templates: Mapping[str, Any]) -> None:
        """Take the data from `load_templates`. Raises `UsageProblem` if it cannot be used."""
        self._rules = build_rules(templates)

    @property
    def name(self) -> str:
        """The model's name."""
        return "rules"

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the artifact as JSON text, with a usage of no tokens."""
        await trio.lowlevel.checkpoint()
        role = request.material.get("role")
        if isinstance(role, str) and role in ACQUISITION_AUTHORS:
            text = acquisition_reply(role, request.material)
            return Reply(text=text, usage=Usage(), model=self.name)
        if not isinstance(role, str) or role not in AUTHORS:
            known = ", ".join((*AUTHORS, *ACQUISITION_AUTHORS))
            return Fault(
                kind=FaultKind.BAD_REQUEST, message=f"the model `rules` has no role {role!r}; it knows {known}"
            )
        text = write(role, request.material, self._rules)
        return Reply(text=text, usage=Usage(), model=self.name)

    async def aclose(self) -> None:
        """Do nothing: the model holds no resources."""
        await trio.lowlevel.checkpoint()


def write(role: str, material: Mapping[str, Any], rules: RulesTables) -> str:
    """Return the JSON text of a role's artifact. Raises `KeyError` for an unknown role."""
    artifact = AUTHORS[role](parse_request(material, rules), rules)
    return orjson.dumps(artifact, option=orjson.OPT_INDENT_2).decode()


def analysis_artifact(request: ParsedRequest, rules: RulesTables) -> dict[str, Any]:
    """Return the analysis; each escalation moves it to the next kind in the ranking."""
    classification, doubts = request.classification, request.doubts()
    if doubts and not doubts["open_questions"]:
        return doubts
    kind = request.understanding.kind
    others = [other for other in classification.ranking if other != kind and classification.scores[other] > 0]
    slots = {
        "kind": rules.phrases.kind(kind),
        "second": rules.phrases.kind(others[0]) if others else "",
        "signals": names([f'"{signal}"' for signal in classification.signals[kind][:3]]),
    }
    return {
        "problem_type": kind,
        "language": request.language,
        "severity": classification.severity,
        "key_signals": list(classification.signals[kind] or (request.facts.title or rules.phrases.nameless,)),
        "affected_area": area_of(request.facts, rules) or request.facts.title or rules.phrases.nameless,
        "rationale": first(rules.phrases.rationale, slots),
        "open_questions": [],
        **doubts,
    }


def recon_artifact(request: ParsedRequest, _: RulesTables) -> dict[str, Any]:
    """Return the facts in the text."""
    facts = request.facts
    return {
        "mentioned_files": list(facts.files),
        "stack_traces": [trace.text for trace in facts.traces],
        "apis_involved": list(facts.apis),
        "test_references": list(facts.tests),
        "reproduction_steps": list(facts.steps),
        "constraints_mentioned": list(texts_of(request, KEPT)[:ITEMS_MAX]),
        "requirements": [requirement_to_json(requirement) for requirement in request.stated.requirements],
        "open_questions": [],
    }


def unclear(_: ParsedRequest, __: RulesTables) -> dict[str, Any]:
    """Return the cause `unclear`: what rules can know of failures is in the policy's table already."""
    return {"cause": str(Cause.UNCLEAR)}


AUTHORS: Mapping[str, Callable[[ParsedRequest, RulesTables], dict[str, Any]]] = {
    "analysis": analysis_artifact,
    "recon": recon_artifact,
    "strategy": strategy_artifact,
    "plan": plan_artifact,
    "critique": critique_artifact,
    CLASSIFIER: unclear,
}
