"""Ranks the strategies for a problem, and writes the strategy artifact."""

from collections.abc import Mapping
from typing import Any

from actors.rules.continued import executable
from actors.rules.parsed_request import ParsedRequest, facts_of, template_kind
from actors.rules.slots import fill, first, names, slots_of
from actors.rules.tables import RulesTables

EVIDENCE_MAX = 5
"""Files, interfaces and tests, of each so many, that a strategy names as its evidence."""


def ranked(request: ParsedRequest, rules: RulesTables) -> list[str]:
    """Return the ids of the fitting strategies, best first.

    Strategies for this kind only come before those for several kinds if the classification is firm and, for a bug fix,
    the text names something to start from; otherwise after them. Strategies of other kinds with a signal come last,
    and not at all once an analysis has settled the kind.
    """
    kind = template_kind(request, rules)
    classification = request.classification
    special = [name for name, strategy in rules.strategies.items() if strategy.kinds == (kind,)]
    general = [name for name, strategy in rules.strategies.items() if kind in strategy.kinds and name not in special]
    sure = (
        classification.firm
        and classification.kind() == kind
        and (request.facts.anchored or bool(request.facts.steps) or kind != "bug_fix")
    )
    settled = isinstance(request.dependency("analysis").get("problem_type"), str)
    others = [
        name
        for other in classification.ranking
        if other != kind and classification.scores[other] > 0 and not settled
        for name, strategy in rules.strategies.items()
        if strategy.kinds == (other,)
    ]
    return [*special, *general, *others] if sure else [*general, *special, *others]


def select_strategy(request: ParsedRequest, rules: RulesTables) -> str:
    """Return the strategy's id: the first in the ranking, one place further down for each rejection."""
    ranking = ranked(request, rules)
    return ranking[min(request.retries + request.escalations, len(ranking) - 1)]


def strategy_artifact(request: ParsedRequest, rules: RulesTables) -> dict[str, Any]:
    """Return the strategy artifact; where no analysis came before, it is this step that asks."""
    doubts = {} if "analysis" in request.dependencies else request.doubts()
    if doubts and not doubts["open_questions"]:
        return doubts
    name = select_strategy(request, rules)
    strategy = rules.strategies[name]
    facts = facts_of(request)
    errors = tuple(trace.error for trace in facts.traces[:1] if trace.error)
    slots = slots_of(request, facts, rules)
    slots |= {
        "kind": rules.phrases.kind(template_kind(request, rules)),
        "why": strategy.why,
        "evidence": names(tuple(dict.fromkeys((*errors, *facts.files[:2], *facts.apis[:2], *facts.tests[:1])))),
    }
    template = rules.templates[strategy.template or template_kind(request, rules)]
    planned = {step.step_id for step in template.steps if step.needed or executable(step, request.given)}
    rationale = first(rules.phrases.strategy_rationale, slots)
    if request.escalations or request.retries:
        rationale = f"{rules.phrases.strategy_changed} {rationale}"
    return {
        "strategy_id": name,
        "strategy_name": strategy.name,
        "rationale": rationale,
        "for_type": strategy.kinds[0] if len(strategy.kinds) == 1 else template_kind(request, rules),
        "key_steps": [
            {"id": step.id, "text": text}
            for step in strategy.key_steps
            if (text := fill(step.text, slots)) is not None and planned.intersection(step.steps)
        ],
        "expected_guards": list(strategy.expected_guards),
        "risk_factors": [text for risk in strategy.risk_factors if (text := fill(risk, slots)) is not None],
        "evidence": _evidence(request),
        "open_questions": [],
        **doubts,
    }


def _evidence(request: ParsedRequest) -> list[str]:
    """Return names that the strategy starts from: those of the accepted recon, or else those of the text."""
    own, recon = request.facts, request.dependencies.get("recon")
    lists = {"mentioned_files": own.files, "apis_involved": own.apis, "test_references": own.tests}
    found = lists if not isinstance(recon, Mapping) else {key: recon.get(key) for key in lists}
    items = (item for names in found.values() if isinstance(names, list | tuple) for item in names[:EVIDENCE_MAX])
    return list(dict.fromkeys(item for item in items if isinstance(item, str) and item.strip()))
