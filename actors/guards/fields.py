"""Code that guards share: schemas of artifacts, checks of their fields, and access to the results of other steps."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from actors.files.suggestions import near
from actors.guards.port import Guard, PureGuardFactory
from actors.plans.reader import REQUIREMENT
from actors.values.answers import choice, closed_schema, list_of
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict, limit_findings
from actors.values.format import shorten
from actors.values.open_questions import NOT_UNDERSTOOD, QUESTIONS_SCHEMA, find_misunderstandings, questions_of
from runtime.core.errors import UsageProblem
from runtime.models.replies import Parsed, Unreadable

SHOWN_MAX = 60
"""The largest number of characters of an invalid value that a message shows."""
ITEMS_MAX = 10_000
KEYS_MAX = 1_000


def fold_space(text: str) -> str:
    """Return the text with each sequence of white space replaced by one blank, and without white space at the ends."""
    return " ".join(text.split())


def check_settings(guard: str, config: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `UsageProblem` if a setting's name is not in `known`, or if its value is not a list of names."""
    for key, value in config.items():
        place = f"guard_config of {guard}: {key}"
        if key not in known:
            hint = near(key, known) or (
                f"settings: {', '.join(sorted(known))}" if known else "this guard has no settings"
            )
            raise UsageProblem("unknown setting", place=place, hint=hint)
        if (
            not isinstance(value, list | tuple)
            or not value
            or not all(isinstance(item, str) and item for item in value)
        ):
            raise UsageProblem("must be a list of at least one name", place=place)


def without_settings(name: str, guard: Guard) -> PureGuardFactory:
    """Return the factory of a guard that has no settings. The factory can be pickled."""
    return partial(_make_without_settings, name, guard)


def _make_without_settings(name: str, guard: Guard, config: Mapping[str, Any]) -> Guard:
    check_settings(name, config, ())
    return guard


class Fields:
    """Checks the fields of one artifact.

    Each call of a method is one check, except `optional`. A check never raises; it passes or adds findings. `values` is
    the artifact's JSON object; None if the artifact is not a JSON object.
    """

    def __init__(self, guard: str, artifact: Artifact) -> None:
        self._guard = guard
        self._findings: list[Finding] = []
        self._checks = self._passed = 0
        self._known = {"open_questions"}
        value = artifact.value
        self.values: dict[str, Any] | None = None
        if isinstance(value, Unreadable):
            self.check([Finding(code=value.code, message=value.message)])
        elif not isinstance(value.value, dict):
            self.check(
                [_finding(Code.NOT_OBJECT, "", f"the artifact must be a JSON object, not {_type_name(value.value)}")]
            )
        elif len(value.value) > KEYS_MAX:
            message = f"the artifact has {len(value.value):,} keys; at most {KEYS_MAX:,} are allowed"
            self.check([_finding(Code.TOO_LARGE, "", message)])
        else:
            self.values = value.value

    def check(self, findings: Iterable[Finding]) -> None:
        """Count one check, and add its findings. The check passes if no finding is an error."""
        collected = list(findings)
        self._findings += collected
        self._checks += 1
        self._passed += all(finding.severity != "error" for finding in collected)

    def text(self, key: str, *, required: bool = True) -> str | None:
        """Check a field that must be a text that is not blank. Return the text, or None if it is invalid."""
        if not required and self._is_missing(key):
            return None
        value = self._present(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._fail(Code.TYPE, key, f"{key} must be a text, not {_type_name(value)}")
            return None
        if not value.strip():
            self._fail(Code.EMPTY, key, f"{key} must not be empty")
            return None
        self.check(())
        return value

    def check_choice(self, key: str, allowed: Collection[str]) -> None:
        """Check a field that must be one of the texts in `allowed`."""
        value = self._present(key)
        if value is None:
            return
        if not isinstance(value, str):
            self._fail(Code.TYPE, key, f"{key} must be a text, not {_type_name(value)}")
        elif value not in allowed:
            self._fail(Code.CHOICE, key, f"{key} {quote_text(value)} must be one of: {', '.join(sorted(allowed))}")
        else:
            self.check(())

    def items(self, key: str) -> list[Any]:
        """Check a field that must be a list that is not empty.

        Return its items, unchecked; no items if the field is invalid.
        """
        return self._items(key, empty=False) or []

    def _items(self, key: str, *, empty: bool) -> list[Any] | None:
        value = self._present(key)
        if value is None:
            return None
        if not isinstance(value, list):
            self._fail(Code.TYPE, key, f"{key} must be a list, not {_type_name(value)}")
        elif len(value) > ITEMS_MAX:
            self._fail(Code.TOO_LARGE, key, f"{key} has {len(value):,} items; at most {ITEMS_MAX:,} are allowed")
        elif not value and not empty:
            self._fail(Code.EMPTY, key, f"{key} must not be empty")
        else:
            return value
        return None

    def texts(self, key: str, *, empty: bool = True, required: bool = True) -> list[tuple[int, str]]:
        """Check a field that must be a list of texts. Return the valid items with their indices.

        `empty`: whether the list may be empty. `required`: whether the field must be present.
        """
        if not required and self._is_missing(key):
            return []
        value = self._items(key, empty=empty)
        if value is None:
            return []
        valid = [(index, item) for index, item in enumerate(value) if isinstance(item, str) and item.strip()]
        valid_indices = {index for index, _ in valid}
        self.check(
            _finding(Code.EMPTY, f"{key}[{index}]", f"{key}[{index}] must not be empty")
            if isinstance(item, str)
            else _finding(Code.TYPE, f"{key}[{index}]", f"{key}[{index}] must be a text, not {_type_name(item)}")
            for index, item in enumerate(value)
            if index not in valid_indices
        )
        return valid

    def read_list(self, key: str) -> list[Any]:
        """Check a field that must be a list and may be empty.

        Return its items, unchecked; no items if the field is invalid.
        """
        value = self._present(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._fail(Code.TYPE, key, f"{key} must be a list, not {_type_name(value)}")
            return []
        self.check(())
        return value

    def optional(self, key: str) -> Any:
        """Return the unchecked value of a field; None if the field is missing."""
        return None if self._is_missing(key) or self.values is None else self.values[key]

    def verdict(self) -> Verdict:
        """Return the verdict of all checks. Open questions are errors, and keys that no check has read are warnings.

        The score is the share of the checks that passed.
        """
        if self.values is not None:
            not_understood = list(find_misunderstandings(self.values))
            if any(finding.severity == "error" for finding in not_understood):
                # The author has given up, so it says nothing about the artifact's fields.
                return Verdict(guard=self._guard, findings=tuple(not_understood))
            if not_understood:
                self._known.add(NOT_UNDERSTOOD)
                self.check(not_understood)
            for finding in questions_of(self.values.get("open_questions", [])):
                self.check([finding])
            unknown = sorted(str(key) for key in self.values if key not in self._known)
            self._findings += [
                Finding(
                    code=Code.UNKNOWN,
                    message=f"{quote_text(key)} is not a field of this artifact",
                    where=key,
                    severity="warning",
                )
                for key in unknown
            ]
        score = self._passed / self._checks
        passed = self._passed == self._checks
        return Verdict(guard=self._guard, passed=passed, score=score, findings=tuple(limit_findings(self._findings)))

    def _is_missing(self, key: str) -> bool:
        self._known.add(key)
        return self.values is None or key not in self.values

    def _present(self, key: str) -> Any:
        self._known.add(key)
        if self.values is None:
            return None
        if self.values.get(key) is None:
            self._fail(Code.MISSING, key, f"missing required field: {key}")
            return None
        return self.values[key]

    def _fail(self, code: Code, where: str, message: str) -> None:
        self.check([_finding(code, where, message)])


def _type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"


def quote_text(text: str) -> str:
    """Return the text in the form for messages: in quotes, and cut if it is long."""
    return repr(shorten(text, SHOWN_MAX))


def _finding(code: Code, where: str, message: str) -> Finding:
    return Finding(code=code, message=message, where=where)


PROBLEM_TYPES = ("bug_fix", "feature", "refactoring", "performance", "decision")
SEVERITIES = ("low", "medium", "high")
STRATEGIES = (
    "S1_locate_and_fix",
    "S2_tdd_feature",
    "S3_refactor_safely",
    "S4_profile_and_optimize",
    "S5_investigate_first",
    "S6_compare_and_decide",
)
ASSESSMENTS = ("good", "needs_revision", "fundamentally_flawed")
RECON_LISTS = (
    "mentioned_files",
    "stack_traces",
    "apis_involved",
    "test_references",
    "reproduction_steps",
    "constraints_mentioned",
)
CRITIQUE_LISTS = (
    "missing_steps",
    "unnecessary_steps",
    "ordering_issues",
    "guard_appropriateness",
    "specific_suggestions",
)

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def _with_open_questions(properties: dict[str, Any]) -> dict[str, Any]:
    return closed_schema({**properties, "open_questions": QUESTIONS_SCHEMA})


def analysis_schema(languages: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an analysis. `languages` are the allowed languages; if empty, all languages are allowed."""
    return _with_open_questions(
        {
            "problem_type": choice(PROBLEM_TYPES),
            "language": choice(languages) if languages else _TEXT,
            "severity": choice(SEVERITIES),
            "key_signals": _TEXTS,
            "affected_area": _TEXT,
            "rationale": _TEXT,
        }
    )


def strategy_schema(strategies: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of a strategy. `strategies` are the valid ids besides the built-in ids."""
    return _with_open_questions(
        {
            "strategy_id": choice((*STRATEGIES, *strategies)),
            "strategy_name": _TEXT,
            "rationale": _TEXT,
            "for_type": choice(PROBLEM_TYPES),
            "key_steps": list_of({"id": _TEXT, "text": _TEXT}),
            "expected_guards": _TEXTS,
            "risk_factors": _TEXTS,
            "evidence": _TEXTS,
        }
    )


ANALYSIS_SCHEMA = analysis_schema()
RECON_SCHEMA = _with_open_questions(
    {
        **dict.fromkeys(RECON_LISTS, _TEXTS),
        "requirements": list_of(
            {
                **REQUIREMENT,
                "conflicts_with": _TEXTS,
                "limit": closed_schema({"name": _TEXT, "value": _TEXT}),
                "readings": _TEXTS,
            }
        ),
    }
)
STRATEGY_SCHEMA = strategy_schema()
CRITIQUE_SCHEMA = _with_open_questions(
    {
        "overall_assessment": choice(ASSESSMENTS),
        "problem_type_match": _TEXT,
        **dict.fromkeys(CRITIQUE_LISTS, _TEXTS),
    }
)


def dependency(context: Context, role: str) -> Mapping[str, Any] | None:
    """Return the last JSON object that a required step with this role made; None if there is none."""
    roles = context.settings.get("roles", {})
    values = [artifact.value for step, artifact in context.dependencies.items() if roles.get(step) == role]
    objects = [value.value for value in values if isinstance(value, Parsed) and isinstance(value.value, dict)]
    return objects[-1] if objects else None


def object_of(artifact: Artifact) -> tuple[dict[str, Any] | None, list[Finding]]:
    """Return an artifact's JSON object and no finding, or None and the error that the artifact is not a JSON object."""
    value = artifact.value
    if isinstance(value, Unreadable):
        return None, [Finding(code=value.code, message=value.message)]
    if not isinstance(value.value, dict):
        return None, [Finding(code=Code.NOT_OBJECT, message="the artifact must be a JSON object")]
    return value.value, []


def warn_nothing_to_compare(guard: str, what: str) -> Verdict:
    """Return a passing verdict with a warning: the guard compared nothing, because no required step made `what`."""
    message = f"{guard} compared nothing, because no required step made {what}"
    return verdict_of(guard, [Finding(code=Code.NOTHING_TO_COMPARE, message=message, severity="warning")])


def verdict_of(
    guard: str, findings: Sequence[Finding], checks: int = 1, facts: Mapping[str, Any] | None = None
) -> Verdict:
    """Return the guard's verdict, which passes if no finding is an error.

    The score is the share of the `checks` without an error.
    """
    errors = {finding.where for finding in findings if finding.severity == "error"}
    score = 1.0 if not errors else max(0.0, min(0.99, 1 - len(errors) / max(1, checks)))
    return Verdict(
        guard=guard, passed=not errors, score=score, findings=tuple(limit_findings(findings)), facts=facts or {}
    )


def comparable_name(name: str) -> str:
    """Return a name with white space and case normalised, so that different spellings of a name are equal."""
    return fold_space(name).casefold()


def normalize_name(name: str) -> str:
    """Return the letters and digits of a name, in lower case.

    So names that differ only in white space, punctuation or case become equal.
    """
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def warn_if_given(findings: Iterable[Finding], context: Context, code: Code) -> list[Finding]:
    """Return the findings. If the context has `given` facts, findings with the code `code` become warnings.

    A run with `given` facts plans the rest of an interrupted execution, so the plan need not repeat the work that is
    done.
    """
    if context.given is None:
        return list(findings)
    return [
        finding.model_copy(update={"severity": "warning"}) if finding.code == code else finding for finding in findings
    ]


def was_asked(context: Context, question: str) -> bool:
    """Return whether the run has already asked the user this question.

    A run never asks a question twice, even if nobody has answered.
    """
    sought = fold_space(question)
    return any(sought in fold_space(closed.question) for closed in context.clarifications)
