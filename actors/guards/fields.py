"""What the guards of plain artifacts share: reading fields, gathering findings, and the verdict that follows."""

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from actors.values.artifacts import Artifact
from actors.values.findings import Code, Finding, Verdict
from actors.values.open_questions import questions_of
from runtime.core.errors import UsageProblem
from runtime.models.replies import Unreadable

SHOWN = 60  # characters of a bad value that a message repeats


def folded(text: str) -> str:
    """Return the text with every run of white space as one blank, and none at the ends."""
    return " ".join(text.split())


def check_settings(guard: str, config: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `UsageProblem` for a setting that the guard does not know, or that is no list of names."""
    for key, value in config.items():
        place = f"guard_config of {guard}: {key}"
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"it knows {', '.join(sorted(known)) or 'no settings'}"
            raise UsageProblem("unknown setting", place=place, hint=hint)
        if (
            not isinstance(value, list | tuple)
            or not value
            or not all(isinstance(item, str) and item for item in value)
        ):
            raise UsageProblem("must be a list of names, not empty", place=place)


class Fields:
    """The fields of one artifact, read one after the other; each reading is a check that passes or leaves findings.

    Nothing here raises, whatever the artifact holds.
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
            self.check([_finding(Code.NOT_OBJECT, "", f"must be a JSON object, not {kind_of(value.value)}")])
        else:
            self.values = value.value

    def check(self, findings: Iterable[Finding]) -> None:
        """Count one check, which passes iff none of its findings is an error."""
        found = list(findings)
        self._findings += found
        self._checks += 1
        self._passed += all(finding.severity != "error" for finding in found)

    def text(self, key: str, *, required: bool = True) -> str | None:
        """Read a text that must not be blank."""
        if not required and self._absent(key):
            return None
        value = self._present(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self._fail(Code.TYPE, key, f"{key} must be a text, not {kind_of(value)}")
            return None
        if not value.strip():
            self._fail(Code.EMPTY, key, f"{key} must not be empty")
            return None
        self.check(())
        return value

    def choice(self, key: str, allowed: Collection[str]) -> None:
        """Read a text that must be one of `allowed`."""
        value = self._present(key)
        if value is None:
            return
        if not isinstance(value, str):
            self._fail(Code.TYPE, key, f"{key} must be a text, not {kind_of(value)}")
        elif value not in allowed:
            self._fail(Code.CHOICE, key, f"{key} {shown(value)} must be one of: {', '.join(sorted(allowed))}")
        else:
            self.check(())

    def texts(self, key: str, *, empty: bool = True, required: bool = True) -> list[tuple[int, str]]:
        """Read a list of texts; the good ones come back with their places; `empty`: whether there may be none."""
        if not required and self._absent(key):
            return []
        value = self._present(key)
        if value is None:
            return []
        if not isinstance(value, list):
            self._fail(Code.TYPE, key, f"{key} must be a list, not {kind_of(value)}")
            return []
        if not value and not empty:
            self._fail(Code.EMPTY, key, f"{key} must not be empty")
            return []
        good = [(place, item) for place, item in enumerate(value) if isinstance(item, str) and item.strip()]
        taken = {place for place, _ in good}
        self.check(
            _finding(Code.EMPTY, f"{key}[{place}]", f"{key}[{place}] must not be empty")
            if isinstance(item, str)
            else _finding(Code.TYPE, f"{key}[{place}]", f"{key}[{place}] must be a text, not {kind_of(item)}")
            for place, item in enumerate(value)
            if place not in taken
        )
        return good

    def verdict(self) -> Verdict:
        """Return what came of it: open questions reject too, and keys that nobody read are warnings."""
        if self.values is not None:
            for finding in questions_of(self.values.get("open_questions", [])):
                self.check([finding])
            extra = sorted(str(key) for key in self.values if key not in self._known)
            self._findings += [
                Finding(
                    code=Code.UNKNOWN,
                    message=f"{shown(key)} is not a field of this artifact",
                    where=key,
                    severity="warning",
                )
                for key in extra
            ]
        score = self._passed / self._checks
        passed = self._passed == self._checks
        return Verdict(guard=self._guard, passed=passed, score=score, findings=tuple(self._findings))

    def _absent(self, key: str) -> bool:
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
        """Count a check that found one error."""
        self.check([_finding(code, where, message)])


def kind_of(value: Any) -> str:
    """Return JSON's word for what a value is."""
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


def shown(text: str) -> str:
    """Return the text as a message repeats it: quoted, and cut if it is long."""
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def _finding(code: Code, where: str, message: str) -> Finding:
    return Finding(code=code, message=message, where=where)
