"""`strategy_valid`: the chosen strategy is a known one, with a rationale and key steps."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.guards.fields import PROBLEM_TYPES, STRATEGIES, Fields, check_settings, quote_text
from actors.guards.port import Guard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict
from actors.values.requirements import EVIDENCE, FOR_TYPE, KEY_STEPS, key_step

NAME = "strategy_valid"


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. Its setting `strategies` lists strategy ids that are valid besides the five built-in ones."""
    check_settings(NAME, config, {"strategies"})
    known = frozenset((*STRATEGIES, *config.get("strategies", ())))

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        fields = Fields(NAME, artifact)
        fields.choice("strategy_id", known)
        fields.text("strategy_name")
        fields.text("rationale")
        if key_steps := fields.items(KEY_STEPS):
            fields.check(_check_key_steps(key_steps))
        fields.texts("expected_guards", empty=False)
        fields.texts("risk_factors")
        fields.texts(EVIDENCE, required=False)
        if fields.optional(FOR_TYPE) is not None:
            fields.choice(FOR_TYPE, PROBLEM_TYPES)
        return fields.verdict()

    return guard


def _check_key_steps(items: list[Any]) -> Iterator[Finding]:
    """Yield an error for each key step of a wrong form, and for each id that is used twice."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        where = f"{KEY_STEPS}[{index}]"
        step = key_step(item)
        if step is None:
            blank = isinstance(item, str)
            message = (
                f"{where} must not be empty" if blank else f"{where} must be a text, or an object with id and text"
            )
            yield Finding(code=Code.EMPTY if blank else Code.TYPE, message=message, where=where)
        elif step.id and step.id in seen:
            message = f"{where}: the id {quote_text(step.id)} is used twice; give each key step its own"
            yield Finding(code=Code.CHOICE, message=message, where=where)
        else:
            seen.add(step.id)
