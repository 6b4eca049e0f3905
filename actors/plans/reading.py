"""Reading a plan out of any JSON value: total, strict about types, and complete about what is wrong.

A missing optional field takes its default, so the oldest plans load unchanged. Nothing is converted: a string where a
list is meant is reported, never taken apart; a bool is not a number. Unknown keys are ignored with a warning.
"""

from collections.abc import Mapping
from typing import Any

from actors.plans import values
from actors.plans.values import Invariant, Plan, Step
from actors.plans.wording import kind, plain
from actors.values.findings import Code, Finding

_PLAN_FIELDS = {
    "plan_id": "text",
    "goal": "note",
    "initial_state": "tokens",
    "goal_state": "tokens",
    "total_retry_budget": "whole",
}
_PLAN_OTHERS = frozenset(("invariants", "steps", "open_questions"))
_INVARIANT_FIELDS = {"when": "tokens", "must": "tokens", "must_not": "tokens"}
_STEP_FIELDS = {
    "step_id": "text",
    "name": "text",
    "description": "note",
    "generator": "text",
    "guard": "text",
    "retry_budget": "whole",
    "dependencies": "tokens",
    "preconditions": "tokens",
    "effects": "tokens",
    "delete_effects": "tokens",
    "on_failure": "text",
    "failure_effects": "tokens",
    "failure_delete_effects": "tokens",
    "repeatable": "flag",
}


def read_plan(value: Any) -> tuple[Plan | None, tuple[Finding, ...]]:
    """Return the plan and everything wrong with its fields and types; the plan is None iff that is an error.

    Never raises. Whether the steps fit together is for `plan_minimal` to say: ids may still repeat, budgets may be 0.
    """
    draft, findings = read_draft(value)
    return (None if any(found.severity == "error" for found in findings) else draft), findings


def read_draft(value: Any) -> tuple[Plan | None, tuple[Finding, ...]]:
    """Return what can be made of the value, with defaults for what is wrong, and every structural finding.

    The draft lets a guard go on and report problems of the graph beside those of the fields. It is None when there are
    no steps to speak of.
    """
    reader = _Reader()
    plan = reader.plan(value)
    return plan, tuple(reader.findings)


class _Reader:
    """Reads one value and collects findings. Each method returns something usable whatever it was given."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []

    def plan(self, value: Any) -> Plan | None:
        if not isinstance(value, dict):
            self._error(Code.NOT_OBJECT, "", f"A plan must be a JSON object, not {kind(value)}.")
            return None
        fields = {"plan_id": values.PLAN_ID_DEFAULT} | self._fields(value, _PLAN_FIELDS, "", _PLAN_OTHERS)
        if not fields["plan_id"]:
            self._error(Code.EMPTY, "plan_id", "plan_id must not be empty.")
        if "plan_id" not in value:
            self._warn(Code.MISSING, "plan_id", "The plan has no plan_id; give it a short name.")
        invariants = self._invariants(value.get("invariants"))
        steps = self._steps(value)
        return None if steps is None else Plan(**fields, steps=steps, invariants=invariants)

    def _steps(self, value: Mapping[str, Any]) -> tuple[Step, ...] | None:
        raw = value.get("steps")
        if "steps" not in value:
            self._error(Code.MISSING, "steps", "The plan has no steps; give a list of step objects under 'steps'.")
            return None
        if not isinstance(raw, list):
            self._error(Code.TYPE, "steps", f"steps must be a list of step objects, not {kind(raw)}.")
            return None
        if not raw:
            self._error(Code.NO_STEPS, "steps", "The plan has an empty list of steps; it needs at least one step.")
            return None
        steps = (self._step(one, f"steps[{place}]") for place, one in enumerate(raw))
        return tuple(step for step in steps if step is not None)

    def _step(self, value: Any, at: str) -> Step | None:
        if not isinstance(value, dict):
            self._error(Code.NOT_OBJECT, at, f"{at} must be a step object, not {kind(value)}.")
            return None
        fields = self._fields(value, _STEP_FIELDS, f"{at}.")
        if not fields.get("step_id"):
            if "step_id" not in value:
                self._error(Code.MISSING, f"{at}.step_id", f"{at} has no step_id; every step needs a unique one.")
            elif "step_id" in fields:
                self._error(Code.EMPTY, f"{at}.step_id", f"{at}.step_id must not be empty.")
            return None
        if fields.setdefault("name", fields["step_id"]) == "":
            self._error(Code.EMPTY, f"{at}.name", f"{at}.name must not be empty.")
        if fields.get("guard") == "":
            self._error(Code.UNKNOWN_GUARD, fields["step_id"], f"{at}.guard must not be empty; name a guard.")
        return Step(**fields)

    def _invariants(self, raw: Any) -> tuple[Invariant, ...]:
        if raw is None:
            return ()
        if not isinstance(raw, list):
            self._error(Code.TYPE, "invariants", f"invariants must be a list of objects, not {kind(raw)}.")
            return ()
        read = []
        for place, one in enumerate(raw):
            at = f"invariants[{place}]"
            if isinstance(one, dict):
                read.append(Invariant(**self._fields(one, _INVARIANT_FIELDS, f"{at}.")))
            else:
                self._error(Code.NOT_OBJECT, at, f"{at} must be an object, not {kind(one)}.")
        return tuple(read)

    def _fields(
        self, value: Mapping[Any, Any], table: Mapping[str, str], at: str, others: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """Return the fields that are present and well-typed; whatever is not takes its default."""
        read: dict[str, Any] = {}
        for key, raw in value.items():
            shape = table.get(key)
            # The usual cases come first and put no path together: a plan may have thousands of steps.
            if shape == "tokens" and type(raw) is list:
                try:
                    if "".join(raw).isascii():
                        read[key] = frozenset(raw)
                        continue
                except TypeError:
                    pass  # Some item is no string; `_tokens` says which.
            elif (shape == "text" and type(raw) is str and raw.isascii()) or (shape == "whole" and type(raw) is int):
                read[key] = raw
                continue
            if shape is not None:
                found = self._field(shape, raw, f"{at}{key}")
                if found is not None:
                    read[key] = found
            elif key not in others:
                where = f"{at}{plain(str(key))}"
                self._warn(Code.UNKNOWN, where, f"{where} is not a field that a plan has; it is ignored.")
        return read

    def _field(self, shape: str, raw: Any, where: str) -> Any:
        """Return the value if it has the shape, else None after a finding."""
        match shape:
            case "tokens":
                return self._tokens(raw, where)
            case "whole":
                return self._whole(raw, where)
            case "flag" if isinstance(raw, bool):
                return raw
            case "flag":
                self._error(Code.TYPE, where, f"{where} must be true or false, not {kind(raw)}.")
                return None
            case "note" if raw is None:
                return None
            case _:
                return raw if self._is_text(raw, where) else None

    def _tokens(self, raw: Any, where: str) -> frozenset[str] | None:
        if isinstance(raw, list):
            return frozenset(one for place, one in enumerate(raw) if self._is_text(one, f"{where}[{place}]"))
        hint = f' (write ["{plain(raw, 40)}"])' if isinstance(raw, str) else ""
        self._error(Code.TYPE, where, f"{where} must be a list of strings, not {kind(raw)}{hint}.")
        return None

    def _is_text(self, raw: Any, where: str) -> bool:
        if not isinstance(raw, str):
            self._error(Code.TYPE, where, f"{where} must be a string, not {kind(raw)}.")
            return False
        try:
            raw.encode()
        except UnicodeEncodeError:
            self._error(Code.TYPE, where, f"{where} is not valid Unicode text: '{plain(raw, 40)}'.")
            return False
        return True

    def _whole(self, raw: Any, where: str) -> int | None:
        if isinstance(raw, int) and not isinstance(raw, bool):
            return raw
        self._error(Code.TYPE, where, f"{where} must be a whole number without quotes, not {kind(raw)}.")
        return None

    def _error(self, code: Code, where: str, message: str) -> None:
        self.findings.append(Finding(code=code, where=where, message=message))

    def _warn(self, code: Code, where: str, message: str) -> None:
        self.findings.append(Finding(code=code, where=where, message=message, severity="warning"))
