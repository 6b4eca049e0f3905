"""`follows_strategy`: some step of the plan implements each key step of the strategy that has an id."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.guards.comparison import (
    dependency,
    object_of,
    same_name,
    verdict_of,
    warn_if_given,
    warn_nothing_to_compare,
)
from actors.guards.fields import check_settings, quote_text
from actors.guards.port import Guard
from actors.plans.reader import read_draft
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.format import printable, quote_names
from actors.values.requirements import KeyStep, key_steps_in

NAME = "follows_strategy"


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings.

    The strategy is the result of the required step with the role `strategy`. Key steps without an id are not compared.
    """
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:
        value, unreadable = object_of(artifact)
        if value is None:
            return verdict_of(NAME, unreadable)
        strategy = dependency(context, "strategy")
        if strategy is None:
            return warn_nothing_to_compare(NAME, "strategy")
        key_steps = [step for step in key_steps_in(strategy) if step.id]
        if not key_steps:
            return verdict_of(NAME, ())
        findings = warn_if_given(_compare(value, key_steps), context, Code.STRATEGY_NOT_FOLLOWED)
        return verdict_of(NAME, findings, len(key_steps))

    return guard


def _compare(value: Mapping[str, Any], key_steps: list[KeyStep]) -> Iterator[Finding]:
    plan, findings = read_draft(value)
    if plan is None:
        yield from findings
        return
    implemented = {same_name(name) for step in plan.steps for name in step.implements}
    for key_step in key_steps:
        if same_name(key_step.id) not in implemented:
            message = (
                f"no step implements the strategy's key step '{printable(key_step.id)}' ({quote_text(key_step.text)}); "
                f"add the step, or write the id under 'implements' of the step that does it"
            )
            yield Finding(code=Code.STRATEGY_NOT_FOLLOWED, message=message, where=key_step.id)
    known = {same_name(key_step.id) for key_step in key_steps}
    for step in sorted(plan.steps, key=lambda step: step.step_id):
        unknown = [name for name in step.implements if same_name(name) not in known]
        if unknown:
            message = (
                f"step {printable(step.step_id)}: implements names no key step of the strategy: {quote_names(unknown)}"
            )
            yield Finding(code=Code.UNKNOWN_KEY_STEP, message=message, where=step.step_id, severity="warning")
