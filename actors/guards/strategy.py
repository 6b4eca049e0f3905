"""`strategy_valid`: the chosen strategy is a known one, with a rationale and key steps."""

from collections.abc import Mapping
from typing import Any

from actors.guards.fields import Fields, check_settings
from actors.guards.port import Guard
from actors.guards.shapes import STRATEGIES
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict

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
        fields.texts("key_steps", empty=False)
        fields.texts("expected_guards", empty=False)
        fields.texts("risk_factors")
        return fields.verdict()

    return guard
