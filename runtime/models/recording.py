"""A model that answers with the recorded replies of a run or a file. Replies are found by a fingerprint of the prompt.

Secrets are removed from prompts and replies before they are written to a file. Fingerprints are computed from redacted
prompts, so they neither reveal a secret nor depend on it.
"""

import difflib
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO, Literal

import trio
import yaml
from pydantic import ValidationError

from runtime.core.errors import UsageProblem
from runtime.core.events import Value
from runtime.core.ledger import Usage
from runtime.core.pydantic_messages import describe
from runtime.models.port import LACKS_REPLY, Fault, FaultKind, Model, ModelRequest, Reply

FILE_BYTES_MAX = 64 * 1024 * 1024
FINGERPRINT_LENGTH = 32
"""The number of hexadecimal digits of a fingerprint. A fingerprint is the first 128 bits of a SHA-256, like the hashes
of prompts in requests."""
DIFF_LINES_MAX = 12
"""The largest number of lines that a fault shows of the difference between two prompts."""
LINE_MAX = 160
"""The largest number of characters that a fault shows of each line of the difference between two prompts."""
_END = b"\n...\n"
_TOO_LARGE = f"the file is over {FILE_BYTES_MAX // 1024**2} MiB"
_FOLDER = "name a file in a folder in which you can write"
SAID = "the recording "
"""The first words of the message of each fault that a recording returns."""


class RecordingMode(StrEnum):
    """The mode of a recording: it says what happens if a prompt has no recorded reply."""

    STRICT = "strict"  # a fault, which shows the first difference between the prompts
    LENIENT = "lenient"  # the reply that was recorded to the same request, whatever its prompt was
    RECORD = "record"  # a model, whose reply is added to the recording


def fingerprint(system: str, user: str) -> str:
    """Return the fingerprint of a prompt. The records of requests contain the same hash (`actors.prompting.render`)."""
    return hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()[:FINGERPRINT_LENGTH]


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """A recorded answer."""

    request_id: str
    """The id of the answered request, without the run's id."""
    fingerprint: str
    answer: Reply | Fault
    prompt: Callable[[], tuple[str, str] | None]
    """A function that returns the system message and the user message of the prompt, or None if they are no longer
    known.
    """


class RecordingModel:
    """Answers with the recorded reply to a prompt with the same fingerprint.

    If there is none, the mode says what happens. If a prompt has several answers, the answer to a request with the same
    id is used, otherwise the first unused answer.
    """

    def __init__(
        self,
        answers: Sequence[RecordedAnswer],
        mode: RecordingMode = RecordingMode.STRICT,
        *,
        name: str = "replay",
        redacted: Callable[[str], str] = lambda text: text,
        missing: Model | None = None,
        add: Callable[[ModelRequest, Reply], RecordedAnswer] | None = None,
    ) -> None:
        """Take the recording.

        Args:
            answers: in the order in which they were recorded.
            mode: what happens for a prompt without a recorded reply.
            name: the model's name.
            redacted: returns a text without secrets; fingerprints are computed from redacted texts.
            missing: the model that answers prompts without a recorded reply in the mode `record`.
            add: adds the reply of `missing` to the recording.
        """
        self._answers, self._mode, self._name = list(answers), mode, name
        self._redacted, self._missing, self._add = redacted, missing, add
        self._used: set[int] = set()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._name

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the recorded answer, or the answer of the model `missing`, or a fault."""
        await trio.lowlevel.checkpoint()
        system, user = self._redacted(request.system), self._redacted(request.user)
        printed = fingerprint(system, user)
        same = [place for place, item in enumerate(self._answers) if item.fingerprint == printed]
        place = self._choose(same, request.request_id)
        if place is None and self._mode is RecordingMode.LENIENT:
            place = self._choose(range(len(self._answers)), request.request_id, only_own=True)
        if place is not None:
            self._used.add(place)
            return self._answers[place].answer
        if self._mode is RecordingMode.RECORD and self._missing is not None and self._add is not None:
            answer = await self._missing.complete(request)
            if isinstance(answer, Reply):
                try:
                    added = self._add(request, answer)
                except UsageProblem as problem:  # The run parks, and goes on when the file can be written.
                    return Fault(kind=FaultKind.NOT_FOUND, message=f"{SAID}cannot store the reply: {problem}")
                self._used.add(len(self._answers))
                self._answers.append(added)
            return answer
        return Fault(kind=FaultKind.NOT_FOUND, message=self._divergence(request.request_id, system, user))

    async def aclose(self) -> None:
        """Do nothing. The caller that opened the model `missing` closes it."""

    def _choose(self, places: Sequence[int], request_id: str, *, only_own: bool = False) -> int | None:
        """Return the index of one of the answers at `places`; None if no answer fits.

        The order of preference is: the answer to a request with the same id, the first unused answer, an answer to the
        same call.
        """
        own = next((place for place in places if self._answers[place].request_id == request_id), None)
        if own is not None:
            return own
        call = _call_of(request_id)
        unused = None if only_own else next((place for place in places if place not in self._used), None)
        if unused is not None:
            return unused
        return next((place for place in places if _call_of(self._answers[place].request_id) == call), None)

    def _divergence(self, request_id: str, system: str, user: str) -> str:
        """Return the message of a fault for a prompt without a recorded reply.

        It shows the first difference from the recorded prompt of the same call, or else of the same step.
        """
        call, step = _call_of(request_id), request_id.partition("/")[0]
        nearest = [answer for answer in self._answers if _call_of(answer.request_id) == call]
        nearest += [answer for answer in self._answers if answer.request_id.partition("/")[0] == step][-1:]
        if not nearest:
            return f"{LACKS_REPLY} for {request_id!r} or its step, because this run has made other requests"
        other = nearest[0]
        then = other.prompt()
        cause = f"{LACKS_REPLY} to the prompt of {request_id!r}"
        if then is None:
            return f"{cause}; the recorded prompt of {other.request_id!r} differs, and cannot be shown any more"
        difference = prompt_difference(then, (system, user))
        if not difference:
            return f"{cause}: this run has more requests with this prompt than the recording has replies"
        return f"{cause}; the prompt differs from that of {other.request_id!r} (- recorded, + sent now):\n{difference}"


def prompt_difference(then: tuple[str, str], now: tuple[str, str]) -> str:
    """Return the first lines that differ between two prompts, as a diff; empty if the prompts are equal."""
    lines = []
    for role, before, after in zip(("system", "user"), then, now, strict=True):
        if before == after:
            continue
        for text in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm=""):
            if text.startswith(("---", "+++")):
                continue
            lines.append(f"{role} {text}" if text.startswith("@@") else text)
    cut = [f"{line[:LINE_MAX]}…" if len(line) > LINE_MAX else line for line in lines[:DIFF_LINES_MAX]]
    return "\n".join([*cut, "…"] if len(lines) > DIFF_LINES_MAX else cut)


def _call_of(request_id: str) -> str:
    return request_id.partition(".t")[0]


class _FileReply(Value):
    """A reply in a file."""

    request: str
    fingerprint: str
    system: str = ""
    """The hash of the system message. The file contains each system message once."""
    user: str
    reply: str
    model: str = ""
    usage: Usage | None = None
    finish_reason: str = "stop"
    mode: str = "text"


class _Part(Value):
    """One YAML document of a recording's file.

    The first document has the version, and each further document has one reply.
    """

    recording: Literal[1] = 1
    systems: Mapping[str, str] = {}
    """The system messages of the replies, by their hash."""
    replies: tuple[_FileReply, ...] = ()


@dataclass
class RecordingFile:
    """A recording in a YAML file. Each reply is added as a document that ends in `...`.

    Text after the last `...` is incomplete because of a crash. It is not read, and the next reply replaces it. A file
    without any `...` is one document. Several runs of one process may add to the file, but not several processes at a
    time.
    """

    path: Path
    """The path of the file. The file may be missing until the first reply is added."""
    redacted: Callable[[str], str]
    _systems: dict[str, str] = field(default_factory=dict)

    def read(self, *, may_be_missing: bool) -> list[RecordedAnswer]:
        """Return the answers in the file. Raises `UsageProblem` if the file cannot be read or is not a recording."""
        place = str(self.path)
        hint = "to make a recording, use the model recorded:FILE?record=MODEL, or run pytest --replan-record"
        number, replies = 0, list[_FileReply]()
        self._systems = {}
        if may_be_missing and not self.path.exists():
            return []
        try:
            with self.path.open("rb") as file:
                data = file.read(FILE_BYTES_MAX + 1)
            if len(data) > FILE_BYTES_MAX:
                raise UsageProblem(_TOO_LARGE, place=place)
            for number, value in enumerate(yaml.load_all(data[: _whole(data)].decode(), _LOADER), 1):
                if not isinstance(value, dict) or (number == 1 and "recording" not in value):
                    raise UsageProblem("this file is not a recording", place=place, hint=hint)
                part = _Part.model_validate(value)
                self._systems |= part.systems
                replies += part.replies
        except OSError as error:
            cause = f"cannot be read: {(error.strerror or str(error)).lower()}"
            raise UsageProblem(cause, place=place, hint=hint) from None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            document = f" document {number}" if number > 1 else ""
            raise UsageProblem(describe(first), place=f"{place}{document} {where}", hint=hint) from None
        except (yaml.YAMLError, ValueError, RecursionError):
            raise UsageProblem("not YAML", place=place, hint=hint) from None
        if number == 0:
            raise UsageProblem("this file is not a recording", place=place, hint=hint)
        return [self._answer(reply) for reply in replies]

    def check_writable(self) -> None:
        """Raise `UsageProblem` if the file cannot be written. Call this before a request for a reply is paid for."""
        folder = self.path.absolute().parent
        if not (folder.is_dir() and os.access(folder, os.W_OK)):
            raise UsageProblem("its folder does not exist, or cannot be written", place=str(self.path), hint=_FOLDER)
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise UsageProblem("cannot be written: permission denied", place=str(self.path), hint=_FOLDER)

    def add(self, request: ModelRequest, reply: Reply) -> RecordedAnswer:
        """Add a reply, without the secrets of its prompt and its text, to the end of the file, durably.

        Raises `UsageProblem` if the file cannot be written or would be too large.
        """
        system, user = self.redacted(request.system), self.redacted(request.user)
        added = _FileReply(
            request=request.request_id,
            fingerprint=fingerprint(system, user),
            system=_hash(system),
            user=user,
            reply=self.redacted(reply.text),
            model=reply.model,
            usage=reply.usage,
            finish_reason=reply.finish_reason,
            mode=reply.mode,
        )
        exists = self.path.exists()
        stands = exists and added.system in self._systems
        part = _Part(systems={} if stands else {added.system: system}, replies=(added,))
        self._append(part.model_dump(mode="json", exclude_defaults=True), exists=exists)
        self._systems[added.system] = system
        return self._answer(added)

    def _append(self, part: Mapping[str, Any], *, exists: bool) -> None:
        """Write a document after the last complete document. The first document creates the file atomically."""
        plain = part if exists else {"recording": 1, **part}
        data = yaml.dump(
            plain,
            Dumper=_Dumper,
            allow_unicode=True,
            sort_keys=False,
            width=10**6,
            explicit_start=exists,
            explicit_end=True,
            encoding="utf-8",
        )
        beside = self.path.with_name(f".{self.path.name}.new")
        try:
            with (self.path if exists else beside).open("r+b" if exists else "wb") as file:
                end = _open_end(file) if exists else b""
                if file.tell() + len(end + data) > FILE_BYTES_MAX:
                    raise UsageProblem(_TOO_LARGE, place=str(self.path), hint="record into another file")
                file.write(end + data)
                file.flush()
                os.fsync(file.fileno())
            if not exists:
                beside.replace(self.path)
        except OSError as error:
            cause = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise UsageProblem(cause, place=str(self.path), hint=_FOLDER) from None

    def _answer(self, entry: _FileReply) -> RecordedAnswer:
        system = self._systems.get(entry.system, "")
        reply = Reply(
            text=entry.reply,
            usage=entry.usage,
            model=entry.model,
            finish_reason=entry.finish_reason,
            mode=entry.mode,
        )
        return RecordedAnswer(entry.request, entry.fingerprint, reply, lambda: (system, entry.user))


def _whole(data: bytes) -> int:
    """Return the number of bytes in the complete documents.

    Texts are indented, so `...` in column 0 always ends a document.
    """
    last = data.rfind(_END)
    return len(data) if last < 0 else last + len(_END)


def _open_end(file: BinaryIO) -> bytes:
    """Move to the end of the last complete document, remove the incomplete one, and return the missing `...`."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - len(_END)))
    if file.read() == _END:
        return b""
    file.seek(0)
    data = file.read()
    whole = _whole(data)
    file.truncate(whole)
    file.seek(whole)
    return b"" if data[:whole].endswith(_END) else (b"...\n" if data.endswith(b"\n") else _END)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


_LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class _Dumper(yaml.SafeDumper):
    """The safe dumper.

    It writes texts of several lines as blocks, so that people can read the changes between two versions.
    """

    def ignore_aliases(self, data: Any) -> bool:
        """Write no aliases: repeated values are written in full."""
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
