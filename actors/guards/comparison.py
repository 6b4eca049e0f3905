"""The common part of the guards that compare an artifact with the results of other steps."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from actors.guards.fields import fold_space
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict, limit_findings
from runtime.models.replies import Parsed, Unreadable


def dependency(context: Context, role: str) -> Mapping[str, Any] | None:
    """Return the JSON object of the last dependency with this role; those that are not JSON objects are skipped."""
    roles = context.settings.get("roles", {})
    values = [artifact.value for step, artifact in context.dependencies.items() if roles.get(step) == role]
    objects = [value.value for value in values if isinstance(value, Parsed) and isinstance(value.value, dict)]
    return objects[-1] if objects else None


def object_of(artifact: Artifact) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Return an artifact's JSON object, or None and the error that says why it has none."""
    value = artifact.value
    if isinstance(value, Unreadable):
        return None, [Finding(code=value.code, message=value.message)]
    if not isinstance(value.value, dict):
        return None, [Finding(code=Code.NOT_OBJECT, message="must be a JSON object")]
    return value.value, []


def warn_nothing_to_compare(guard: str, what: str) -> Verdict:
    """Return the verdict of a guard whose step does not require what it compares with: a warning."""
    message = f"{guard} compared nothing: no {what} is among the results that this step requires"
    return verdict_of(guard, [Finding(code=Code.NOTHING_TO_COMPARE, message=message, severity="warning")])


def verdict_of(
    guard: str, findings: Sequence[Finding], checks: int = 1, facts: Mapping[str, Any] | None = None
) -> Verdict:
    """Return the verdict: passed if no finding is an error. The score is the share of the `checks` without an error."""
    errors = {finding.where for finding in findings if finding.severity == "error"}
    score = 1.0 if not errors else max(0.0, min(0.99, 1 - len(errors) / max(1, checks)))
    return Verdict(
        guard=guard, passed=not errors, score=score, findings=tuple(limit_findings(findings)), facts=facts or {}
    )


def same_name(name: str) -> str:
    """Return a name with white space and case folded: two spellings of it are equal."""
    return fold_space(name).casefold()


def bare_name(name: str) -> str:
    """Return the letters and digits of a name, with case folded: names that differ in nothing else are nearly equal."""
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def warn_if_given(findings: Iterable[Finding], context: Context, code: Code) -> list[Finding]:
    """Return the findings; in a run that was given facts, those with the code are warnings.

    Such a run goes on with an execution: its start and its goal are not the author's, and a part of the work is done.
    """
    if context.given is None:
        return list(findings)
    return [
        finding.model_copy(update={"severity": "warning"}) if finding.code == code else finding for finding in findings
    ]


def was_asked(context: Context, question: str) -> bool:
    """Return whether a question was put to the user before, answered or not, so that it is not asked again."""
    sought = fold_space(question)
    return any(sought in fold_space(closed.question) for closed in context.clarifications)
