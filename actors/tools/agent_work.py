"""The report and the changes of a coding agent as data, and the calls that record and merge the changes. Pure.

`claude -p --output-format json` prints one JSON object. `codex exec --json` prints one event per line. The events have
numbers of tokens, but no price. Unknown fields are ignored, so that reports of newer releases can be read too.
"""

import json
import math
import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Any, Literal, NamedTuple

from actors.run.tools import ToolCost
from actors.tools.parameters import path_problem
from actors.tools.uses import ToolUse, built_in_use
from actors.values.format import printable
from runtime.core.events import Value
from runtime.core.ledger import MICRO

WORKTREE_DIFF = "worktree:diff"
WORKSPACE_MERGE = "workspace:merge"
GIT_SECONDS = 120.0
"""The time limit, in seconds, for all git commands together that make, record or merge one worktree."""
CALL_SECONDS = 300.0
"""The time limit of a call of `worktree:diff` or `workspace:merge`, in seconds."""
_PATHS_SHOWN = 5
LINK, SUBMODULE = "120000", "160000"
"""The modes of a symbolic link and of a submodule in a tree of git."""


class AgentWork(Value):
    """The work of a coding agent: the result of a call of `worktree:diff`."""

    base: str
    """The commit from which the agent started."""
    commit: str
    """The commit of the files after the agent's end."""
    files: tuple[str, ...]
    """The paths that the agent has added, changed or removed, sorted."""
    diff: str
    """The agent's changes: the output of `git diff --binary`."""


class TreeChange(NamedTuple):
    """A path that differs between two trees of git."""

    path: bytes
    old_mode: str
    """The file mode before the change, such as `100644`; `000000` if the path did not exist."""
    new_mode: str
    old: str
    """The object id of the content before the change; only zeros if the path did not exist."""
    new: str

    @property
    def removed(self) -> bool:
        """Whether the change removes the path."""
        return self.new_mode == "000000"


def diff_use(name: str, base: str, files_max: int, diff_bytes_max: int) -> ToolUse:
    """Return the call that records an agent's changes since the commit `base` in the worktree `name`."""
    arguments = {"name": name, "base": base, "files_max": files_max, "diff_bytes_max": diff_bytes_max}
    return built_in_use(WORKTREE_DIFF, arguments, CALL_SECONDS)


def merge_use(name: str, base: str, commit: str) -> ToolUse:
    """Return the call that merges an agent's work. A second call with the same name and commit merges nothing."""
    return built_in_use(WORKSPACE_MERGE, {"name": name, "base": base, "commit": commit}, CALL_SECONDS)


def earlier_attempts(name: str) -> tuple[str, ...]:
    """Return the names of the earlier attempts of the same visit.

    `name` is the name of an attempt, which ends with the attempt's number.
    """
    start = name.rstrip("0123456789")
    return tuple(f"{start}{number}" for number in range(1, int(name[len(start) :] or 1)))


def changes_in(output: bytes) -> tuple[TreeChange, ...]:
    """Return the changes that `git diff-tree -r -z --raw --no-renames --no-abbrev` prints."""
    fields = output.split(b"\0")
    changes = []
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.decode("ascii").lstrip(":").split(" ")
        changes.append(TreeChange(path, old_mode, new_mode, old, new))
    return tuple(changes)


def refusal(changes: Collection[TreeChange], targets: Mapping[bytes, bytes], files_max: int) -> str:
    """Return the reason why changes are refused, in one line; empty if the changes may be checked and merged.

    `targets` has the targets of the symbolic links among the changes, by path.
    """
    if len(changes) > files_max:
        return f"it changes {len(changes):,} files, over the limit of {files_max:,} (max_files)"
    for change in sorted(changes):
        path = change.path.decode("utf-8", "backslashreplace")
        if cause := _path_refusal(change.path, path):
            return cause
        if SUBMODULE in (change.old_mode, change.new_mode) or path == ".gitmodules":
            return f"it changes a submodule: {path!r}"
        if change.new_mode == LINK and _leads_out(change.path, targets.get(change.path, b"/")):
            return f"it adds a symbolic link that leads out of the worktree: {path!r}"
    return ""


def _path_refusal(raw: bytes, path: str) -> str:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return f"the path {path!r} is not UTF-8"
    if any(_is_git(part) for part in path.split("/")):
        return f"it changes a file that belongs to git: {path!r}"
    cause = path_problem(path)
    return f"the path {path!r} {cause}" if cause else ""


def _is_git(part: str) -> bool:
    """Return whether a name can mean `.git` on at least one file system."""
    return part.casefold().rstrip(". ") == ".git" or part.casefold() == "git~1"


def _leads_out(path: bytes, target: bytes) -> bool:
    """Return whether the target of a link is outside the worktree, or in `.git`.

    A target with `..` after a name counts as outside. If the name is a link, the text does not show where the link
    leads.
    """
    text = target.decode("utf-8", "surrogateescape")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    names = list(dropwhile(lambda part: part == "..", parts))
    if text.startswith("/") or not text or ".." in names:
        return True
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path.decode("utf-8", "surrogateescape")), text))
    return place == ".." or place.startswith("../") or any(_is_git(part) for part in place.split("/"))


def list_paths(paths: Sequence[str]) -> str:
    """Return paths as a text: the first few paths, and the number of further paths."""
    more = f" and {len(paths) - _PATHS_SHOWN:,} more" if len(paths) > _PATHS_SHOWN else ""
    return f"{', '.join(printable(path, 100) for path in paths[:_PATHS_SHOWN])}{more}"


COUNT_MAX = 10**12
"""Larger numbers of tokens, turns or dollars in an agent's report are ignored."""
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class AgentReport:
    """The report of an agent about its work."""

    text: str
    """The final text of the report; empty if the report has no text."""
    cost: ToolCost
    problem: str = ""
    """The failure that the agent reports, or why its output cannot be read, in one line; empty without a failure."""


def read_report(form: Literal["claude", "codex", "none"], output: str) -> AgentReport:
    """Return the report from an agent's standard output in the form `form`."""
    match form:
        case "claude":
            return _read_claude(output)
        case "codex":
            return _read_codex(output)
        case "none":
            return AgentReport(output, ToolCost())


def _read_claude(output: str) -> AgentReport:
    found = [item for item in _read_objects(output) if item.get("type") == "result"]
    if not found:
        return AgentReport("", ToolCost(), _unreadable_text("claude", "no JSON object of the type 'result'", output))
    last = found[-1]
    usage = _as_mapping(last.get("usage"))
    read = [usage.get(name) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")]
    cost = ToolCost(
        micro_usd=_micro_usd(last.get("total_cost_usd")),
        input_tokens=sum(map(_count, read)),
        output_tokens=_count(usage.get("output_tokens")),
        turns=_count(last.get("num_turns")),
        session=_text(last.get("session_id"))[:200],
    )
    text, subtype = _text(last.get("result")), _text(last.get("subtype"))
    if last.get("is_error") is False and subtype in ("", "success"):
        return AgentReport(text, cost)
    errors = last.get("errors")
    message = text or "; ".join(map(_text, errors if isinstance(errors, list) else ()))
    # A wrong API key is an error that is reported with the subtype 'success'.
    error = "an error" if subtype in ("", "success") else subtype
    return AgentReport(text, cost, f"the agent reports {error}" + (f": {_line(message)}" if message else ""))


def _read_codex(output: str) -> AgentReport:
    text = session = problem = ""
    turns = into = out = 0
    ended = False
    for event in _read_objects(output):
        match event.get("type"):
            case "thread.started":
                session = _text(event.get("thread_id"))[:200]
            case "item.completed":
                item = _as_mapping(event.get("item"))
                if item.get("type", item.get("item_type")) in ("agent_message", "assistant_message"):
                    text = _text(item.get("text"))
            case "turn.completed":
                usage, ended, problem = _as_mapping(event.get("usage")), True, ""
                turns, into = turns + 1, into + _count(usage.get("input_tokens"))
                out += _count(usage.get("output_tokens"))
            case "turn.failed":
                ended = True
                message = _text(_as_mapping(event.get("error")).get("message"))
                problem = "the agent reports a failed turn" + (f": {_line(message)}" if message else "")
            case _:
                pass
    if not ended:
        problem = _unreadable_text("codex", "no event 'turn.completed'", output)
    return AgentReport(text, ToolCost(input_tokens=into, output_tokens=out, turns=turns, session=session), problem)


def _read_objects(output: str) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects in an output.

    The output is one object, a list of objects, or text with one object per line. All other lines are skipped.
    """
    try:
        whole = json.loads(output)
    except (ValueError, RecursionError):
        whole = None
    if whole is None:
        for line in output.splitlines():
            if line.lstrip()[:1] == "{":
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict):
                    yield value
        return
    for value in whole if isinstance(whole, list) else [whole]:
        if isinstance(value, dict):
            yield value


def _unreadable_text(form: str, lacks: str, output: str) -> str:
    shown = f", and begins with {_line(output)!r}" if output.strip() else ", because it is empty"
    return f"the agent's output does not fit `report: {form}`: it has {lacks}{shown}"


def _line(text: str) -> str:
    first = next((row for row in text.splitlines() if row.strip()), "").strip()
    return first[:_SHOWN]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _micro_usd(dollars: Any) -> int | None:
    if isinstance(dollars, bool) or not isinstance(dollars, int | float) or not 0 <= dollars < COUNT_MAX:
        return None
    return math.ceil(round(dollars * MICRO, 6))


def _count(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= COUNT_MAX else 0
