"""`critique_valid`: a critique of a draft plan has an assessment and at least one remark."""

from collections.abc import Mapping
from typing import Any

from actors.guards.fields import ASSESSMENTS, CRITIQUE_LISTS, Fields, check_settings
from actors.guards.port import Guard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict

NAME = "critique_valid"


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        fields = Fields(NAME, artifact)
        fields.choice("overall_assessment", ASSESSMENTS)
        fields.text("problem_type_match", required=False)
        remarks = [fields.texts(key) for key in CRITIQUE_LISTS]
        if fields.values is not None and not any(remarks):
            message = f"the critique says nothing: fill at least one of {', '.join(CRITIQUE_LISTS)}"
            fields.check([Finding(code=Code.EMPTY, message=message)])
        return fields.verdict()

    return guard
