"""A parsed file: plain values with line numbers, by which errors about the file name a place."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.core.errors import UsageProblem

KeyPath = tuple[str | int, ...]
"""The path of a value in a document: keys, and positions in lists."""


def key_path(path: KeyPath) -> str:
    """Return a path as text, such as `action_pairs.g_plan.requires[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A parsed YAML file: its value, and where each key stands in it."""

    source: str
    """The path of the file, as the user wrote it."""
    value: Mapping[str, Any]
    """The mapping at the top level."""
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    """The line number of each path; 0 if it has none."""

    def place(self, path: KeyPath = ()) -> str:
        """Return `FILE:LINE key.path`; for a path that is not in the file, the line of its nearest parent."""
        known = path
        while known and known not in self.lines:
            known = known[:-1]
        line = self.lines.get(known)
        return f"{self.source}{f':{line}' if line else ''} {key_path(path)}".strip()

    def problem(self, cause: str, path: KeyPath = (), hint: str = "") -> UsageProblem:
        """Return an error whose place is the path."""
        return UsageProblem(cause, place=self.place(path), hint=hint)
