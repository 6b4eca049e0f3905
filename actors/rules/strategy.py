"""Ranks the strategies for a problem, and writes the strategy artifact."""

from typing import Any

from actors.rules.parsed_request import ParsedRequest, facts_of, kind_of
from actors.rules.slots import fill, first, names, slots_of
from actors.rules.tables import Rules


def ranked(request: ParsedRequest, rules: Rules) -> list[str]:
    """Return the ids of the fitting strategies, best first.

    Strategies for this kind only come before those for several kinds if the classification is firm and, for a bug fix,
    the text names something to start from; otherwise after them. Strategies of other kinds with a signal come last.
    """
    kind = kind_of(request, rules)
    classification = request.classification
    special = [name for name, strategy in rules.strategies.items() if strategy.kinds == (kind,)]
    general = [name for name, strategy in rules.strategies.items() if kind in strategy.kinds and name not in special]
    sure = (
        classification.firm
        and classification.kind() == kind
        and (request.facts.anchored or bool(request.facts.steps) or kind != "bug_fix")
    )
    others = [
        name
        for other in classification.ranking
        if other != kind and classification.scores[other] > 0
        for name, strategy in rules.strategies.items()
        if strategy.kinds == (other,)
    ]
    return [*special, *general, *others] if sure else [*general, *special, *others]


def select_strategy(request: ParsedRequest, rules: Rules) -> str:
    """Return the strategy's id: the first in the ranking, one place further down for each rejection."""
    ranking = ranked(request, rules)
    return ranking[min(request.retries + request.escalations, len(ranking) - 1)]


def strategy_artifact(request: ParsedRequest, rules: Rules) -> dict[str, Any]:
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
        "kind": rules.phrases.kind(kind_of(request, rules)),
        "why": strategy.why,
        "evidence": names((*errors, *facts.files[:2], *facts.apis[:2], *facts.tests[:1])),
    }
    rationale = first(rules.phrases.strategy_rationale, slots)
    if request.escalations or request.retries:
        rationale = f"{rules.phrases.strategy_changed} {rationale}"
    return {
        "strategy_id": name,
        "strategy_name": strategy.name,
        "rationale": rationale,
        "key_steps": [text for step in strategy.key_steps if (text := fill(step, slots)) is not None],
        "expected_guards": list(strategy.expected_guards),
        "risk_factors": [text for risk in strategy.risk_factors if (text := fill(risk, slots)) is not None],
        "open_questions": [],
        **doubts,
    }
