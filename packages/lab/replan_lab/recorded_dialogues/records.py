"""Reads recorded dialogues: the proposals of models, and the verdict on each proposal.

A file has one JSON object per line, in one of four forms, and may be compressed with gzip. A record has the hash of a
reply instead of its text. docs/how-to/run-an-experiment.md shows a record.
"""

import gzip
import re
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from runtime.core.errors import UsageProblem


class Move(StrEnum):
    """What a policy can do after a rejection."""

    RETRY = "retry"
    """Make the next attempt of the same dialogue, with the rejected attempt in the prompt."""
    AFRESH = "afresh"
    """Make the first attempt of another dialogue about the same task, without the rejected attempt in the prompt."""
    REPHRASE = "rephrase"
    """Make an attempt at the same task with another prompt."""
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """A proposed solution and its verdict."""

    text: str
    """The hash of the proposal; empty if the dialogue ended without a proposal."""
    accepted: bool
    length: int = 0
    likeness: float | None = None
    """The share of words that this proposal has in common with the previous proposal; None for a first proposal."""
    reward: float | None = None
    """The graded verdict, from 0 to 1; None if the verdict has only two values."""
    informative: bool = True
    """Whether the finding says more than that the proposal is wrong."""
    calls: int = 1
    """The number of model calls since the previous proposal."""


NOTHING = RecordedAttempt("", accepted=False)
"""The attempt that represents the end of a dialogue. It counts as rejected."""


@dataclass(frozen=True, slots=True)
class RecordedDialogue:
    """A recorded dialogue of one model about one task."""

    model: str
    """The name of the model, and the part of its prompt that differs between runs, such as `schema given`. A fresh
    attempt comes from a dialogue with an equal `model`.
    """
    task: str
    attempts: tuple[RecordedAttempt, ...]
    prompt: str = ""
    """What distinguishes the dialogues of one model about one task: a limit of turns, or the name of a prompt. Empty if
    the records have neither."""
    has_turn_left: bool = True
    """Whether another attempt was allowed after the last attempt."""

    def at(self, position: int) -> RecordedAttempt:
        """Return the attempt at a position, counted from 0; `NOTHING` if the dialogue has fewer attempts."""
        return self.attempts[position] if position < len(self.attempts) else NOTHING


@dataclass(frozen=True)
class Records:
    """The dialogues of a file, and the rules for evaluating a policy on them."""

    form: str
    """The name of the form: `proposals`, `rewards`, `repairs` or `prompts`."""
    dialogues: tuple[RecordedDialogue, ...]
    moves: tuple[Move, ...]
    attempts_max: int
    """The largest number of attempts at a case, including the first."""
    begins_rejected: bool
    left_out: int = 0
    by_task: Mapping[tuple[str, str], Sequence[RecordedDialogue]] = field(init=False)

    def __post_init__(self) -> None:
        found = defaultdict[tuple[str, str], list[RecordedDialogue]](list)
        for dialogue in self.dialogues:
            found[dialogue.model, dialogue.task].append(dialogue)
        object.__setattr__(self, "by_task", dict(found))

    @property
    def has_other_dialogues(self) -> bool:
        """Whether one of the records' moves begins another dialogue."""
        return not {Move.AFRESH, Move.REPHRASE}.isdisjoint(self.moves)

    def others(self, dialogue: RecordedDialogue) -> tuple[RecordedDialogue, ...]:
        """Return the other dialogues of the model about the task."""
        return tuple(other for other in self.by_task[dialogue.model, dialogue.task] if other is not dialogue)


def _proposals(line: Mapping[str, Any]) -> RecordedDialogue | None:
    """Return the dialogue of an episode with tools, in which a model may propose two solutions (MINT-bench).

    Returns None for an episode in which a person or model gave feedback in words, because no other episode has the same
    conditions.
    """
    if line["feedback"]:
        return None
    proposals = [position for position, turn in enumerate(line["seq"]) if turn[0] == "S"]
    found = [line["seq"][position] for position in proposals]
    last = len(found) - 1
    steps = [after - before for before, after in pairwise((-1, *proposals))]
    attempts = tuple(
        RecordedAttempt(str(turn[1]), bool(line["success"]) and at == last, turn[2], _at(turn, 3), None, False, calls)
        for at, (turn, calls) in enumerate(zip(found, steps, strict=True))
    )
    left = bool(proposals) and proposals[-1] + 1 < line["turns"] and len(proposals) < 2
    return RecordedDialogue(line["model"], f"{line['task']}/{line['id']}", attempts, str(line["turns"]), left)


_RUN = re.compile(r"ic_sql_(?P<kind>multiturn|react)_(?P<model>.+?)[-_]?(?P<turns>\d+)_turns(?P<schema>_handicap)?")
"""Matches the name of a run of InterCode. In such a name, `handicap` means that the prompt contains the database's
schema."""


def _rewards(line: Mapping[str, Any]) -> RecordedDialogue:
    """Return the dialogue of a run with graded rewards (InterCode).

    An error of the database tells the model what is wrong. Any other result informs the model only if the prompt does
    not have the schema.
    """
    named = _RUN.fullmatch(line["run"])
    run = (named["kind"] + " " + named["model"]).removeprefix("multiturn ") if named else line["run"]
    model = f"{run}, schema {'given' if named and named['schema'] else 'unknown'}"
    attempts = []
    for turn in line["seq"]:
        informative = turn[3] == "error" or not (named and named["schema"])
        attempts.append(RecordedAttempt(str(turn[0]), turn[2] == 1.0, turn[1], _at(turn, 5), turn[2], informative))
    turns = named["turns"] if named else ""
    return RecordedDialogue(model, str(line["task"]), tuple(attempts), turns, has_turn_left=turns != "1")


def _repairs(line: Mapping[str, Any]) -> RecordedDialogue:
    last = len(line["seq"]) - 1
    attempts = tuple(
        RecordedAttempt(str(turn[0]), bool(line["visible"]) and at == last, turn[1], _at(turn, 2))
        for at, turn in enumerate(line["seq"])
    )
    return RecordedDialogue(line["run"], line["task"], attempts)


def _prompts(line: Mapping[str, Any]) -> RecordedDialogue:
    """Return the dialogue of a single plan (PlanBench). The name of its run is FOLDER/DOMAIN/MODEL/PROMPT.json."""
    domain, model, prompt = line["run"].removesuffix(".json").split("/")[-3:]
    attempt = RecordedAttempt(str(line["plan"]), bool(line["ok"]), int(line["steps"] or 0), informative=False)
    return RecordedDialogue(model, f"{domain}/{line['task']}", (attempt,), prompt, has_turn_left=False)


def _at(turn: Sequence[Any], position: int) -> float | None:
    return float(turn[position]) if position < len(turn) else None


@dataclass(frozen=True, slots=True)
class _Form:
    name: str
    keys: frozenset[str]
    """The keys that a line of this form has."""
    verdict: str
    """The key of the verdict. A record without the key, or with the value null, is skipped."""
    read: Callable[[Mapping[str, Any]], RecordedDialogue | None]
    moves: tuple[Move, ...]
    attempts_max: int
    begins_rejected: bool = False


_FORMS = (
    _Form("proposals", frozenset({"model", "feedback", "turns", "id"}), "success", _proposals,
          (Move.RETRY, Move.AFRESH, Move.STOP), 2, begins_rejected=True),
    _Form("rewards", frozenset({"run", "hardness", "seq"}), "seq", _rewards,
          (Move.RETRY, Move.AFRESH, Move.STOP), 3),
    _Form("repairs", frozenset({"run", "rounds", "seq"}), "visible", _repairs, (Move.RETRY, Move.STOP), 11),
    _Form("prompts", frozenset({"run", "plan"}), "ok", _prompts, (Move.REPHRASE, Move.STOP), 2, begins_rejected=True),
)  # fmt: skip
_HINT = "docs/how-to/run-an-experiment.md describes the forms of records"


def read_records(path: Path) -> Records:
    """Return the records in a file. Raises `UsageProblem` with file and line."""
    dialogues, left_out, form = list[RecordedDialogue](), 0, None
    for number, line in enumerate(_lines(path), 1):
        place = f"{path}:{number}"
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise UsageProblem(f"no JSON: {error.msg}", place=place, hint=_HINT) from None
        if form is None:
            form = _form_of(value, place)
        elif not isinstance(value, dict) or not form.keys <= value.keys():
            raise UsageProblem("the record does not have the keys of the first record", place=place, hint=_HINT)
        if value.get(form.verdict) is None:
            left_out += 1
            continue
        try:
            dialogue = form.read(value)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            cause = f"the record of the form `{form.name}` cannot be read: {type(error).__name__} {error}"
            raise UsageProblem(cause, place=place, hint=_HINT) from None
        if dialogue is not None:
            dialogues.append(dialogue)
    if form is None:
        raise UsageProblem("the file has no records", place=str(path), hint=_HINT)
    if len({dialogue.task for dialogue in dialogues}) < 2:
        cause = "all records are about one task" if dialogues else "no record has a verdict"
        hint = "name a file with at least two tasks, because policies use the results of a model's other tasks"
        raise UsageProblem(cause, place=str(path), hint=hint)
    return Records(form.name, tuple(dialogues), form.moves, form.attempts_max, form.begins_rejected, left_out)


def _form_of(value: Any, place: str) -> _Form:
    for form in _FORMS:
        if isinstance(value, dict) and form.keys <= value.keys():
            return form
    raise UsageProblem("the record has no known form", place=place, hint=_HINT)


def _lines(path: Path) -> Iterator[bytes]:
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageProblem(f"cannot be unpacked: {error}", place=str(path), hint="download the file again") from None
    except OSError as error:
        raise UsageProblem(f"cannot be read: {error.strerror}", place=str(path), hint=_HINT) from None
    return (line for line in content.splitlines() if line.strip())
