"""Reads a plan from any JSON value, within limits of size, and makes the JSON Schema of a plan for models.

Reading never raises, is strict about types, and reports all errors at once.

A missing optional field gets its default, so plans of older versions can be read. No value is converted: a string where
a list is required is an error, and a bool is not a number. An unknown key is ignored with a warning. But an unknown key
that is similar to a known key is an error, because a plan without its misspelt preconditions would be proved wrongly.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.files.suggestions import closest
from actors.plans.plan import PLAN_ID_DEFAULT, Invariant, NamedOutcome, Plan, Step
from actors.values.answers import choice, closed_schema, list_of
from actors.values.findings import Code, Finding
from actors.values.format import describe_value, printable
from actors.values.open_questions import QUESTIONS_SCHEMA
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, own_ids, requirements_in
from runtime.core.hooks import make_total
from runtime.models.replies import ReplyCode

STEPS_MAX = 20_000
INVARIANTS_MAX = 1_000
KEYS_MAX = 100
LIST_MAX = 10_000
ITEMS_MAX = 200_000
NAME_MAX = 1_000
_LISTS = (("steps", STEPS_MAX), ("invariants", INVARIANTS_MAX))


def too_large(value: Mapping[str, Any]) -> Finding | None:
    """Return an error about the first part of a plan that exceeds a limit; None if all parts are small enough.

    Never raises.
    """
    for name, limit in _LISTS:
        items = value.get(name)
        if isinstance(items, list) and len(items) > limit:
            return _error(name, f"has {len(items):,} items", limit)
    make_total = 0
    for path, fields in _objects(value):
        if len(fields) > KEYS_MAX:
            return _error(path or "the plan", f"has {len(fields):,} keys", KEYS_MAX)
        for key, field in fields.items():
            where = f"{path}.{key[:40]}".removeprefix(".")
            if key == "step_id" and isinstance(field, str) and len(field) > NAME_MAX:
                return _error(where, f"has {len(field):,} characters", NAME_MAX)
            if not isinstance(field, list) or (not path and key in ("steps", "invariants", "open_questions")):
                continue
            if len(field) > LIST_MAX:
                return _error(where, f"has {len(field):,} items", LIST_MAX)
            make_total += len(field)
            for item in field:
                if isinstance(item, str) and len(item) > NAME_MAX:
                    return _error(where, f"has an item of {len(item):,} characters", NAME_MAX)
    return _error("the plan", f"has {make_total:,} items in its lists", ITEMS_MAX) if make_total > ITEMS_MAX else None


def _objects(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "", value
    for name, _ in _LISTS:
        items = value.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield f"{name}[{index}]", item
                outcomes = item.get("outcomes")
                for number, outcome in enumerate(outcomes if isinstance(outcomes, list) else ()):
                    if isinstance(outcome, dict):
                        yield f"{name}[{index}].outcomes[{number}]", outcome


def _error(where: str, cause: str, limit: int) -> Finding:
    text = f"{where} {cause}; the limit is {limit:,}. Make the plan smaller."
    return Finding(code=Code.PLAN_TOO_LARGE, where="" if where == "the plan" else where, message=text)


NEAR_KEY = 0.8
"""The least similarity to a known key (a ratio of `difflib`) with which an unknown key counts as misspelt."""
NEAR_KEY_LENGTH_MAX = 40
"""The length of the longest key that is compared with the known keys, in characters."""
FINDINGS_MAX = 1_000
"""The largest number of findings about a plan's fields and types. A plan with more findings is not read any further."""

# The types of fields: `tokens` is a list of strings, `nullable_text` a string or null. No guard depends on a `remark`
# (a string) or on `marks` (a list of strings). If they have another type, they are ignored with a warning.
_PLAN_FIELDS = {
    "plan_id": "text",
    "goal": "nullable_text",
    "initial_state": "tokens",
    "goal_state": "tokens",
    "total_retry_budget": "integer",
    "basis": "remark",
}
_PLAN_OTHER_KEYS = frozenset(("invariants", "steps", "open_questions", "requirements", "not_understood"))
_INVARIANT_FIELDS = {"when": "tokens", "must": "tokens", "must_not": "tokens"}
_OUTCOME_FIELDS = {"name": "text", "effects": "tokens", "delete_effects": "tokens"}
_STEP_OTHER_KEYS = frozenset(("outcomes",))
_STEP_FIELDS = {
    "step_id": "text",
    "name": "text",
    "description": "nullable_text",
    "generator": "text",
    "guard": "text",
    "retry_budget": "integer",
    "dependencies": "tokens",
    "preconditions": "tokens",
    "effects": "tokens",
    "delete_effects": "tokens",
    "on_failure": "text",
    "failure_effects": "tokens",
    "failure_delete_effects": "tokens",
    "repeatable": "bool",
    "undo": "text",
    "satisfies": "marks",
    "implements": "marks",
}


def read_plan(value: Any) -> tuple[Plan | None, tuple[Finding, ...]]:
    """Return the plan in a JSON value, and all findings about its fields and types.

    The plan is None if a finding is an error.

    Never raises. This function does not check whether the steps fit together, so it allows repeated ids and budgets of
    0; the guard `plan_minimal` rejects them.
    """
    draft, findings = read_draft(value)
    return (None if any(finding.severity == "error" for finding in findings) else draft), findings


def _refuse_plan(said: str) -> tuple[None, tuple[Finding, ...]]:
    return None, (Finding(code=ReplyCode.UNREAD, message=said),)


@make_total("the plan", _refuse_plan)
def read_draft(value: Any) -> tuple[Plan | None, tuple[Finding, ...]]:
    """Return a plan with defaults for invalid fields, and all findings.

    The plan is None if the value has no list of steps. A guard can use a plan with defaults to report errors of the
    graph together with errors of the fields.
    """
    if isinstance(value, dict) and (problem := too_large(value)) is not None:
        return None, (problem,)
    reader = _Reader()
    try:
        plan = reader.plan(value)
    except _TooManyFindings:
        text = f"Reading stopped after {FINDINGS_MAX:,} problems; correct these first."
        return None, (*reader.findings, Finding(code=Code.PLAN_TOO_LARGE, message=text))
    return plan, tuple(reader.findings)


class _TooManyFindings(Exception):
    """Stops the reading of a plan with more than `FINDINGS_MAX` findings."""


class _Reader:
    """Reads one value and collects the findings. Every method accepts any value and returns a usable default."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def plan(self, value: Any) -> Plan | None:
        if not isinstance(value, dict):
            self._add_error(Code.NOT_OBJECT, "", f"A plan must be a JSON object, not {describe_value(value)}.")
            return None
        fields = {"plan_id": PLAN_ID_DEFAULT} | self._fields(value, _PLAN_FIELDS, "", _PLAN_OTHER_KEYS)
        if not fields["plan_id"]:
            self._add_error(Code.EMPTY, "plan_id", "plan_id must not be empty.")
        if "plan_id" not in value:
            self._warn(Code.MISSING, "plan_id", "The plan has no plan_id; give it a short name.")
        invariants = self._invariants(value.get("invariants"))
        steps = self._steps(value)
        requirements = self._requirements(value.get("requirements"))
        if steps is None:
            return None
        names = own_ids(value.get("requirements")) if requirements else {}
        if names:
            steps = tuple(
                step._replace(satisfies=frozenset(names.get(name, name) for name in step.satisfies)) for step in steps
            )
            requirements = tuple(
                item._replace(depends_on=tuple(names.get(name, name) for name in item.depends_on))
                for item in requirements
            )
        return Plan(**fields, steps=steps, invariants=invariants, requirements=requirements)

    def _steps(self, value: Mapping[str, Any]) -> tuple[Step, ...] | None:
        raw = value.get("steps")
        if "steps" not in value:
            self._add_error(Code.MISSING, "steps", "The plan has no steps; give a list of step objects under 'steps'.")
            return None
        if not isinstance(raw, list):
            self._add_error(Code.TYPE, "steps", f"steps must be a list of step objects, not {describe_value(raw)}.")
            return None
        if not raw:
            self._add_error(Code.NO_STEPS, "steps", "The plan has an empty list of steps; it needs at least one step.")
            return None
        steps = (self._step(item, f"steps[{index}]") for index, item in enumerate(raw))
        return tuple(step for step in steps if step is not None)

    def _step(self, value: Any, path: str) -> Step | None:
        if not isinstance(value, dict):
            self._add_error(Code.NOT_OBJECT, path, f"{path} must be a step object, not {describe_value(value)}.")
            return None
        fields = self._fields(value, _STEP_FIELDS, f"{path}.", _STEP_OTHER_KEYS)
        if value.get("outcomes"):
            fields["outcomes"] = self._outcomes(value["outcomes"], f"{path}.outcomes")
        if not fields.get("step_id"):
            if "step_id" not in value:
                self._add_error(
                    Code.MISSING, f"{path}.step_id", f"{path} has no step_id; every step needs a unique one."
                )
            elif "step_id" in fields:
                self._add_error(Code.EMPTY, f"{path}.step_id", f"{path}.step_id must not be empty.")
            return None
        if fields.setdefault("name", fields["step_id"]) == "":
            self._add_error(Code.EMPTY, f"{path}.name", f"{path}.name must not be empty.")
        if fields.get("guard") == "" and not fields.get("outcomes"):  # A model's schema has no missing keys.
            self._add_error(Code.UNKNOWN_GUARD, fields["step_id"], f"{path}.guard must not be empty; name a guard.")
        return Step(**fields)

    def _outcomes(self, raw: Any, path: str) -> tuple[NamedOutcome, ...]:
        if not isinstance(raw, list):
            form = 'write [{"name": "...", "effects": []}]'
            self._add_error(Code.TYPE, path, f"{path} must be a list of objects, not {describe_value(raw)} ({form}).")
            return ()
        outcomes = []
        for index, item in enumerate(raw):
            where = f"{path}[{index}]"
            if isinstance(item, dict):
                outcomes.append(NamedOutcome(**{"name": ""} | self._fields(item, _OUTCOME_FIELDS, f"{where}.")))
            else:
                text = f"{where} must be an object with name and effects, not {describe_value(item)}."
                self._add_error(Code.NOT_OBJECT, where, text)
        return tuple(outcomes)

    def _invariants(self, raw: Any) -> tuple[Invariant, ...]:
        if raw is None:
            return ()
        if not isinstance(raw, list):
            self._add_error(
                Code.TYPE, "invariants", f"invariants must be a list of objects, not {describe_value(raw)}."
            )
            return ()
        invariants = []
        for index, item in enumerate(raw):
            path = f"invariants[{index}]"
            if isinstance(item, dict):
                invariants.append(Invariant(**self._fields(item, _INVARIANT_FIELDS, f"{path}.")))
            else:
                self._add_error(Code.NOT_OBJECT, path, f"{path} must be an object, not {describe_value(item)}.")
        return tuple(invariants)

    def _requirements(self, raw: Any) -> tuple[Requirement, ...]:
        if raw is None:
            return ()
        requirements = tuple(requirements_in(raw))
        if not isinstance(raw, list) or len(requirements) < len(raw):
            text = "requirements must be a list of objects with kind, text, quote and source; other items are ignored."
            self._warn(Code.TYPE, "requirements", text)
        return requirements

    def _fields(
        self, value: Mapping[Any, Any], types: Mapping[str, str], prefix: str, other_keys: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """Return the values of the fields that are present and have the right type.

        The caller uses defaults for all other fields.
        """
        fields: dict[str, Any] = {}
        for key, raw in value.items():
            field_type = types.get(key)
            # The common cases come first and build no path, because a plan may have thousands of steps.
            if field_type == "tokens" and type(raw) is list:
                try:
                    if "".join(raw).isascii():
                        fields[key] = frozenset(raw)
                        continue
                except TypeError:
                    pass  # Some item is not a string. `_tokens` reports the item.
            elif (field_type == "text" and type(raw) is str and raw.isascii()) or (
                field_type == "integer" and type(raw) is int
            ):
                fields[key] = raw
                continue
            if field_type is not None:
                field = self._field(field_type, raw, f"{prefix}{key}")
                if field is not None:
                    fields[key] = field
            elif key not in other_keys:
                self._unknown(str(key), prefix, (*types, *other_keys))
        return fields

    def _unknown(self, key: str, prefix: str, known: Sequence[str]) -> None:
        """Report an unknown key: as an error if it is similar to a known key, otherwise as a warning."""
        where = f"{prefix}{printable(key)}"
        near = closest(key.lower(), known, cutoff=NEAR_KEY) if len(key) <= NEAR_KEY_LENGTH_MAX else ""
        if near:
            self._add_error(Code.UNKNOWN, where, f"{where} is not a field of a plan; did you mean '{near}'?")
        else:
            self._warn(Code.UNKNOWN, where, f"{where} is not a field of a plan; it is ignored.")

    def _field(self, field_type: str, raw: Any, where: str) -> Any:
        match field_type:
            case "tokens":
                return self._tokens(raw, where)
            case "integer":
                return self._integer(raw, where)
            case "bool" if isinstance(raw, bool):
                return raw
            case "bool":
                self._add_error(Code.TYPE, where, f"{where} must be true or false, not {describe_value(raw)}.")
                return None
            case "nullable_text" if raw is None:
                return None
            case "remark" | "marks":
                return self._read_unchecked(field_type, raw, where)
            case _:
                return raw if self._is_text(raw, where) else None

    def _read_unchecked(self, field_type: str, raw: Any, where: str) -> Any:
        """Return the value of a field that no guard uses.

        If the value has a wrong type, add a warning and return None.
        """
        if field_type == "remark" and isinstance(raw, str):
            return raw
        if field_type == "marks" and isinstance(raw, list) and all(isinstance(item, str) for item in raw):
            return frozenset(raw)
        self._warn(Code.TYPE, where, f"{where} has a wrong type; it is ignored.")
        return None

    def _tokens(self, raw: Any, where: str) -> frozenset[str] | None:
        if isinstance(raw, list):
            return frozenset(item for index, item in enumerate(raw) if self._is_text(item, f"{where}[{index}]"))
        hint = f' (write ["{printable(raw, 40)}"])' if isinstance(raw, str) else ""
        self._add_error(Code.TYPE, where, f"{where} must be a list of strings, not {describe_value(raw)}{hint}.")
        return None

    def _is_text(self, raw: Any, where: str) -> bool:
        if not isinstance(raw, str):
            self._add_error(Code.TYPE, where, f"{where} must be a string, not {describe_value(raw)}.")
            return False
        try:
            raw.encode()
        except UnicodeEncodeError:
            self._add_error(Code.TYPE, where, f"{where} is not valid Unicode text: '{printable(raw, 40)}'.")
            return False
        return True

    def _integer(self, raw: Any, where: str) -> int | None:
        if isinstance(raw, int) and not isinstance(raw, bool):
            return raw
        self._add_error(Code.TYPE, where, f"{where} must be a whole number without quotes, not {describe_value(raw)}.")
        return None

    def _add_error(self, code: Code, where: str, message: str) -> None:
        self._add(Finding(code=code, where=where, message=message))

    def _warn(self, code: Code, where: str, message: str) -> None:
        self._add(Finding(code=code, where=where, message=message, severity="warning"))

    def _add(self, finding: Finding) -> None:
        if len(self.findings) >= FINDINGS_MAX:
            raise _TooManyFindings
        self.findings.append(finding)


_TEXT = {"type": "string"}
_TOKENS = {"type": "array", "items": {"type": "string"}}
_SCHEMAS: Mapping[str, Any] = {
    "text": _TEXT,
    "nullable_text": _TEXT,
    "tokens": _TOKENS,
    "marks": _TOKENS,
    "integer": {"type": "integer"},
    "bool": {"type": "boolean"},
}
_NOT_BY_MODELS = frozenset(("basis", "undo"))
REQUIREMENT: Mapping[str, Any] = {
    "kind": choice([*map(str, RequirementKind)]),
    "text": _TEXT,
    "quote": _TEXT,
    "source": choice([*map(str, RequirementSource)]),
    "tools": _TOKENS,
    "paths": _TOKENS,
}
"""The JSON Schema of the properties that a requirement has both in a recon result and in a plan."""


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan for a model's `response_format`: a closed object with only required keys.

    The schema is stricter than `read_plan`, which accepts missing keys. Strict structured output has no optional keys,
    so a model writes an empty list or string instead. The guards check the ranges of numbers, because some servers with
    structured output do not accept ranges in a schema.
    """
    step = {**_properties(_STEP_FIELDS), "outcomes": list_of(_properties(_OUTCOME_FIELDS))}
    requirement = {"id": _TEXT, **REQUIREMENT, "tokens": _TOKENS, "depends_on": _TOKENS}
    return closed_schema(
        {
            **_properties(_PLAN_FIELDS),
            "invariants": list_of(_properties(_INVARIANT_FIELDS)),
            "requirements": list_of(requirement),
            "steps": list_of(step),
            "open_questions": QUESTIONS_SCHEMA,
        }
    )


def _properties(types: Mapping[str, str]) -> dict[str, Any]:
    return {key: _SCHEMAS[field_type] for key, field_type in types.items() if key not in _NOT_BY_MODELS}
