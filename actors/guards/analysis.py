"""`analysis_valid`: the classification of a problem has all fields, each with an allowed value."""

from collections.abc import Mapping
from typing import Any

from actors.guards.fields import PROBLEM_TYPES, SEVERITIES, Fields, check_settings, quote_text
from actors.guards.port import Guard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict

NAME = "analysis_valid"
LANGUAGE_LENGTH_MAX = 40
"""Characters of a language's name."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. The setting `languages` lists the allowed ones; without it any lower-case name is valid."""
    check_settings(NAME, config, {"languages"})
    languages = frozenset(config.get("languages", ()))

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        fields = Fields(NAME, artifact)
        fields.choice("problem_type", PROBLEM_TYPES)
        if languages:
            fields.choice("language", languages)
        elif (language := fields.text("language")) is not None:
            fields.check(_check_language(language))
        fields.choice("severity", SEVERITIES)
        fields.texts("key_signals", empty=False)
        fields.text("affected_area")
        fields.text("rationale")
        return fields.verdict()

    return guard


def _check_language(name: str) -> list[Finding]:
    if name == name.lower() and name == name.strip() and len(name) <= LANGUAGE_LENGTH_MAX:
        return []
    message = f"language {quote_text(name)} must be a lower-case name such as 'python', or 'unknown'"
    return [Finding(code=Code.CHOICE, message=message, where="language")]
