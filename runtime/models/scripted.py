"""A model with scripted replies from a file or a mapping."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import trio
import yaml
from pydantic import Field, TypeAdapter, ValidationError

from runtime.core.clock import Clock, SystemClock
from runtime.core.errors import UsageProblem
from runtime.core.events import Value
from runtime.core.ledger import Usage
from runtime.core.pydantic_messages import describe
from runtime.models.port import Fault, FaultKind, ModelRequest, Reply

FILE_BYTES_MAX = 4 * 1024 * 1024
NODES_MAX = 50_000
"""The largest number of keys and values in a script, after the script's YAML aliases are expanded."""

_TRY = re.compile(r"\.t\d+$")
_ENTRY_KEYS = frozenset({"reply", "fault"})
_NOTHING_USED = Usage()


class _ReplyEntry(Value):
    """An entry of a script that describes a reply."""

    reply: Any
    usage: Usage | None = _NOTHING_USED
    finish_reason: str = "stop"
    delay_seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)


class _FaultEntry(Value):
    """An entry of a script that describes a fault."""

    fault: FaultKind
    message: str = "scripted fault"
    status: int | None = None
    retry_after: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    delay_seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)


_ENTRY: TypeAdapter[_ReplyEntry | _FaultEntry] = TypeAdapter(_ReplyEntry | _FaultEntry)


@dataclass(frozen=True, slots=True)
class _Scripted:
    answer: Reply | Fault
    delay_seconds: float


class ScriptedModel:
    """Answers from a script.

    `place` is the script's name in messages. `lines` has the line numbers of its keys and list entries. `used` says how
    many entries of each step's list are used already. If a step's list has no further entry, the script does not fit
    the run. The request then gets the final fault `NOT_FOUND`. An exception would count as a bug of the actor.
    """

    def __init__(
        self,
        script: Mapping[str, Any],
        *,
        place: str = "the script",
        lines: Mapping[tuple[str | int, ...], int] | None = None,
        clock: Clock | None = None,
        used: Mapping[str, int] | None = None,
    ) -> None:
        self._place, self._clock = place, clock or SystemClock()
        self._used = dict(used or {})
        self._lists: dict[str, list[_Scripted]] = {}
        self._exact: dict[str, _Scripted] = {}
        self._lines = lines or {}
        for key, value in script.items():
            where = self.place_of(key)
            if not isinstance(key, str):
                raise UsageProblem("a key is not a string", place=where, hint="keys are step ids or request ids")
            if "/" in key:
                self._exact[key] = _read_entry(value, where)
            elif isinstance(value, list):
                self._lists[key] = [_read_entry(entry, self.place_of(key, at)) for at, entry in enumerate(value)]
            else:
                raise UsageProblem("not a list of replies", place=where, hint="put a dash before each reply")

    @classmethod
    def from_file(cls, path: str | Path, *, clock: Clock | None = None, used: Mapping[str, int] | None = None) -> Self:
        """Read a script from a YAML or JSON file. Raises `UsageProblem`, which names the line."""
        place = str(path)
        try:
            with Path(path).open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
            if len(data) > FILE_BYTES_MAX:
                raise UsageProblem(f"the file is over {FILE_BYTES_MAX // 1024**2} MiB", place=place)
            script, lines = _parse(data.decode("utf-8"))
        except OSError as error:
            cause = f"cannot be read: {(error.strerror or str(error)).lower()}"
            raise UsageProblem(cause, place=place, hint="name an existing script: scripted:FILE") from None
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
            mark = getattr(error, "problem_mark", None)
            where = f"{place}:{mark.line + 1}" if mark is not None else place
            cause = f"not YAML: {getattr(error, 'problem', None) or 'unreadable'}"
            raise UsageProblem(cause, place=where, hint="map step ids to lists of replies") from None
        if not isinstance(script, dict):
            raise UsageProblem("not a mapping", place=place, hint="map step ids to lists of replies")
        return cls(script, place=place, lines=lines, clock=clock, used=used)

    @property
    def keys(self) -> Mapping[str, str]:
        """The id of the step to which each key of the script belongs."""
        return {key: key.partition("/")[0] for key in (*self._lists, *self._exact)}

    def place_of(self, key: str, at: int | None = None) -> str:
        """Return the place of a key, or of an entry of its list, for messages: `FILE:LINE key[0]`."""
        path = (key,) if at is None else (key, at)
        line = f":{self._lines[path]}" if path in self._lines else ""
        return f"{self._place}{line} {key}{'' if at is None else f'[{at}]'}"

    @property
    def name(self) -> str:
        """The model's name."""
        return "scripted"

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the next reply or fault of the request's step."""
        entry = self._exact.get(request.request_id) or self._exact.get(_TRY.sub("", request.request_id))
        if entry is None:
            entry = self._next(request.purpose, request.request_id)
        if entry.delay_seconds:
            await self._clock.sleep_until(self._clock.now() + entry.delay_seconds)
        else:
            await trio.lowlevel.checkpoint()
        return entry.answer

    async def aclose(self) -> None:
        """Do nothing, because no connection is open."""

    def _next(self, step: str, request_id: str) -> _Scripted:
        at = self._used.get(step, 0)
        entries = self._lists.get(step, [])
        if at >= len(entries):
            text = f"{self._place}: no reply is left for {request_id}; step {step!r} has {len(entries)} replies"
            return _Scripted(Fault(kind=FaultKind.NOT_FOUND, message=text), delay_seconds=0.0)
        self._used[step] = at + 1
        return entries[at]


class _Limited(yaml.composer.Composer):
    """PyYAML's composer with a limit for the number of nodes. An alias counts as all nodes of its target."""

    def __init__(self) -> None:
        yaml.composer.Composer.__init__(self)
        self._sizes: dict[int, int] = {}
        self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._nodes += 1
        node = super().compose_node(parent, index)
        if node is None:
            return None
        if id(node) not in self._sizes:
            inner = node.value if isinstance(node, yaml.SequenceNode) else ()
            if isinstance(node, yaml.MappingNode):
                inner = [item for pair in node.value for item in pair]
            self._sizes[id(node)] = 1 + sum(self._sizes.get(id(item), NODES_MAX) for item in inner)
        if self._nodes > NODES_MAX or self._sizes[id(node)] > NODES_MAX:
            raise yaml.composer.ComposerError(None, None, f"more than {NODES_MAX:,} values", node.start_mark)
        return node


class _Loader(_Limited, yaml.SafeLoader):
    """PyYAML's safe loader with the parser that is written in Python."""

    def __init__(self, text: str) -> None:
        yaml.SafeLoader.__init__(self, text)
        _Limited.__init__(self)


class _FastLoader(_Limited, yaml.CSafeLoader):
    """PyYAML's safe loader with libyaml's parser, which is six times as fast."""

    def __init__(self, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        _Limited.__init__(self)


def _compose(text: str) -> "tuple[_Loader | _FastLoader, yaml.Node | None]":
    """Return a loader and the tree of nodes of a YAML text; the tree is None for an empty text.

    If libyaml rejects the text, PyYAML's own parser reads it again, because its errors name the cause.
    """
    if yaml.__with_libyaml__ and "\t" not in text:
        with suppress(yaml.scanner.ScannerError, yaml.parser.ParserError, yaml.reader.ReaderError, UnicodeEncodeError):
            fast = _FastLoader(text)
            return fast, fast.get_single_node()
    loader = _Loader(text)
    return loader, loader.get_single_node()


def _parse(text: str) -> tuple[Any, dict[tuple[str | int, ...], int]]:
    loader, root = _compose(text)
    if not isinstance(root, yaml.MappingNode):
        return None, {}
    script = loader.construct_document(root)  # first, since it refuses keys that are lists
    lines: dict[tuple[str | int, ...], int] = {}
    for key, value in root.value:
        lines[key.value,] = key.start_mark.line + 1
        if isinstance(value, yaml.SequenceNode):
            lines |= {(key.value, at): entry.start_mark.line + 1 for at, entry in enumerate(value.value)}
    return script, lines


def _read_entry(value: Any, where: str) -> _Scripted:
    """Return the answer that an entry describes: a text, a JSON value, or a mapping with `reply` or `fault`."""
    described = value if isinstance(value, dict) and _ENTRY_KEYS & value.keys() else {"reply": value}
    try:
        entry = _ENTRY.validate_python(described)
    except ValidationError as error:
        kind: Literal["_ReplyEntry", "_FaultEntry"] = "_FaultEntry" if "fault" in described else "_ReplyEntry"
        first = next(details for details in error.errors() if details["loc"][0] == kind)
        path = ".".join(str(part) for part in first["loc"][1:])
        raise UsageProblem(describe(first), place=f"{where}.{path}") from None
    if isinstance(entry, _FaultEntry):
        fault = Fault(kind=entry.fault, message=entry.message, status=entry.status, retry_after=entry.retry_after)
        return _Scripted(fault, entry.delay_seconds)
    try:
        text = (
            entry.reply
            if isinstance(entry.reply, str)
            else json.dumps(entry.reply, ensure_ascii=False, allow_nan=False)
        )
    except (TypeError, ValueError) as error:
        raise UsageProblem(
            f"not a JSON value: {error}", place=where, hint="put dates and similar values into quotes"
        ) from None
    reply = Reply(text=text, usage=entry.usage, model="scripted", finish_reason=entry.finish_reason)
    return _Scripted(reply, entry.delay_seconds)
