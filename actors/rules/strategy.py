"""Which strategy a problem calls for, and the next best ones in their order."""

from typing import Any

from actors.rules.reading import Reading, facts_of, kind_of
from actors.rules.slots import fill, first, names, slots_of
from actors.rules.tables import Rules


def ranked(reading: Reading, rules: Rules) -> list[str]:
    """Return all fitting strategy ids, best first.

    A strategy made for this very kind comes before one that is for any kind, unless the text does not bear out the kind
    or names nothing to start from; those of the other kinds that the text hints at come last.
    """
    kind = kind_of(reading, rules)
    found = reading.classification
    special = [name for name, strategy in rules.strategies.items() if strategy.kinds == (kind,)]
    general = [name for name, strategy in rules.strategies.items() if kind in strategy.kinds and name not in special]
    sure = (
        found.firm
        and found.kind() == kind
        and (reading.facts.anchored or bool(reading.facts.steps) or kind != "bug_fix")
    )
    hinted = [
        name
        for other in found.ranking
        if other != kind and found.scores[other] > 0
        for name, strategy in rules.strategies.items()
        if strategy.kinds == (other,)
    ]
    return [*special, *general, *hinted] if sure else [*general, *special, *hinted]


def chosen(reading: Reading, rules: Rules) -> str:
    """Return the strategy to take: one further down the ranking for each time that the choice was rejected."""
    ranking = ranked(reading, rules)
    return ranking[min(reading.retries + reading.escalations, len(ranking) - 1)]


def strategy_artifact(reading: Reading, rules: Rules) -> dict[str, Any]:
    """Return the strategy artifact."""
    name = chosen(reading, rules)
    strategy = rules.strategies[name]
    facts = facts_of(reading)
    errors = tuple(trace.error for trace in facts.traces[:1] if trace.error)
    slots = slots_of(reading, facts, rules)
    slots |= {
        "kind": rules.phrases.kind(kind_of(reading, rules)),
        "why": strategy.why,
        "evidence": names((*errors, *facts.files[:2], *facts.apis[:2], *facts.tests[:1])),
    }
    rationale = first(rules.phrases.strategy_rationale, slots)
    if reading.escalations or reading.retries:
        rationale = f"{rules.phrases.strategy_changed} {rationale}"
    return {
        "strategy_id": name,
        "strategy_name": strategy.name,
        "rationale": rationale,
        "key_steps": [said for step in strategy.key_steps if (said := fill(step, slots)) is not None],
        "expected_guards": list(strategy.expected_guards),
        "risk_factors": [said for risk in strategy.risk_factors if (said := fill(risk, slots)) is not None],
        "open_questions": [],
    }
