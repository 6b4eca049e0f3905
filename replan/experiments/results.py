"""The results of an experiment: one JSON object per line and trial, in the order of the trials.

The order makes a file that stops somewhere the beginning of the whole file, so an experiment that was killed goes on
behind the last whole line and ends with the same bytes. `experiment.json` beside it says what was asked.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, ValidationError

from runtime.core.errors import UsageProblem
from runtime.core.events import Value

RESULTS = "results.jsonl"
HEADER = "experiment.json"
SCHEMA_VERSION: Literal[1] = 1


class StepUse(Value):
    """What one step came to in a trial: attempts, how many its guard accepted, calls, and seconds of generation."""

    attempts: int = 0
    accepted: int = 0
    calls: int = 0
    seconds: float = 0.0


class Trial(Value):
    """One trial.

    `passed` says that every guard passed; `solved` that the plan is right, which only a simulated world knows (else
    None). `calls` counts model calls; `depths` has one entry per step back, the distance of the farthest target;
    `rules` counts the policy's decisions by row; `aligned` says whether the last accepted strategy is the one for the
    accepted problem type (None without either); `cause` is where a simulated problem is hard.
    """

    arm: str
    problem: str
    seed: int
    category: str = ""
    cause: str = ""
    outcome: str
    passed: bool
    solved: bool | None = None
    calls: int
    tokens: int
    micro_usd: int | None
    seconds: float
    depths: tuple[int, ...] = ()
    rules: Mapping[str, int] = Field(default_factory=dict)
    aligned: bool | None = None
    steps: Mapping[str, StepUse] = Field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, int]:
        """What names the trial."""
        return self.arm, self.problem, self.seed


class Header(Value):
    """What the results beside it are of: `definition` is a hash of all that the trials depend on."""

    schema_version: Literal[1] = SCHEMA_VERSION
    release: str
    name: str
    definition: str
    trials: int


def line_of(trial: Trial) -> bytes:
    """Return a trial as its line."""
    return orjson.dumps(trial.model_dump(mode="json"), option=orjson.OPT_APPEND_NEWLINE)


def read_results(folder: Path) -> list[Trial]:
    """Return the trials in a folder; a torn last line is none. Raises `UsageProblem` for one that is not ours."""
    path = folder / RESULTS
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageProblem(f"cannot be read: {error.strerror}", place=str(path)) from None
    return [_trial(line, f"{path}:{number}") for number, line in enumerate(_whole_lines(data), 1)]


def read_frame(folder: Path) -> Any:
    """Return the trials as a pandas DataFrame, a row each; the columns of a step are named `STEP.attempts` and so on.

    Raises `UsageProblem` when pandas is not installed (`pip install replan[experiments]`).
    """
    try:
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415 - optional
    except ImportError:
        hint = "pip install 'replan[experiments]'"
        raise UsageProblem("pandas is not installed", place="read_frame", hint=hint) from None
    return pd.DataFrame([dict(_columns(trial)) for trial in read_results(folder)])


def _columns(trial: Trial) -> Iterator[tuple[str, Any]]:
    yield from trial.model_dump(mode="json", exclude={"steps", "rules"}).items()
    for step, use in trial.steps.items():
        yield from ((f"{step}.{name}", value) for name, value in use.model_dump().items())
    yield from ((f"rule.{rule}", count) for rule, count in trial.rules.items())


def _whole_lines(data: bytes) -> list[bytes]:
    """Return the lines that were written to their end."""
    return data[: data.rfind(b"\n") + 1].splitlines()


def _trial(line: bytes, place: str) -> Trial:
    try:
        return Trial.model_validate_json(line)
    except ValidationError:
        hint = "delete the folder, or name another with --out"
        raise UsageProblem("not a result of this release", place=place, hint=hint) from None


class Store:
    """The folder that an experiment writes to."""

    def __init__(self, folder: Path, header: Header) -> None:
        self.folder = folder
        self._header = header

    def begin(self, keys: Iterable[tuple[str, str, int]]) -> list[Trial]:
        """Make the folder, or take up what it holds; return the trials that are done.

        Raises:
            UsageProblem: the folder holds the results of something else.
        """
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            return self._begun(keys)

    def _begun(self, keys: Iterable[tuple[str, str, int]]) -> list[Trial]:
        header, results = self.folder / HEADER, self.folder / RESULTS
        if not header.exists():
            if results.exists():
                raise UsageProblem(f"has results, but no {HEADER}", place=str(self.folder), hint="name another --out")
            _write_whole(header, self._header)
            results.touch()
            return []
        self._compare(header)
        results.touch()
        done = read_results(self.folder)
        for trial, key in zip(done, keys, strict=False):
            if trial.key != key:
                raise UsageProblem("the trials are not in their order", place=str(results), hint="name another --out")
        with results.open("r+b") as file:  # What was torn off in the middle of a line is written anew.
            file.truncate(sum(len(line) + 1 for line in _whole_lines(results.read_bytes())))
        return done

    def append(self, trial: Trial) -> None:
        """Write a trial behind the others; it is on the disk when this returns."""
        with self._writing(), (self.folder / RESULTS).open("ab") as file:
            file.write(line_of(trial))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say in one line that the folder takes no more; what it holds stays good."""
        try:
            yield
        except OSError as error:
            hint = "the same command goes on when it can be"
            cause = f"cannot be written: {error.strerror}"
            raise UsageProblem(cause, place=str(self.folder), hint=hint) from None

    def _compare(self, path: Path) -> None:
        try:
            found = Header.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            hint = "name another folder with --out"
            raise UsageProblem("not the results of this release", place=str(path), hint=hint) from None
        if found != self._header:
            same = found.definition == self._header.definition and found.name == self._header.name
            cause = f"made by release {found.release}" if same else "the results of another definition are here"
            raise UsageProblem(cause, place=str(path), hint="name another folder with --out, or delete this one")


def _write_whole(path: Path, value: Value) -> None:
    """Write a file so that it is there whole or not at all."""
    beside = path.with_suffix(".part")
    beside.write_bytes(
        orjson.dumps(value.model_dump(mode="json"), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    )
    beside.replace(path)
