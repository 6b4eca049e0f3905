"""The Python API: solve a problem, follow a run as it goes, check a plan. `import replan` is the way to it."""

import inspect
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import trio

from actors.guards.built_in import BUILT_IN
from actors.guards.plan_settings import Settings
from actors.guards.port import AnyGuard
from actors.handlers.generators import TextMaker
from actors.planning.prepare import RunOptions, RunRequest
from actors.planning.result import Result
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from replan.runs.engine import Engine
from replan.runs.home import open_home
from replan.runs.prepare import prepare
from replan.runs.run_ids import new_run_id
from replan.runs.session import RunSession
from replan.setup.command_name import program
from replan.setup.kinds import Kinds
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from runtime.core.clock import SystemClock
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.drive.options import Stop
from runtime.open_journal import open_journal

__all__ = ["MEMORY", "Ask", "Memory", "Run", "asolve", "check", "solve", "start"]


class Memory(Enum):
    """The type of `MEMORY`."""

    MEMORY = "memory"


MEMORY = Memory.MEMORY
"""A home that is gone when the call returns: nothing is written, and nothing can be resumed."""

Generate = TextMaker
"""A plug-in generator: a function from a context to text, async or not."""
Ask = Callable[[Mapping[str, Any]], str | Awaitable[str | None] | None]
"""Answers a question: gets its `id`, `text` and `why`, and returns the answer; None or an empty text leaves it open."""

_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "workflow": ((str, Path), "a shipped name or a file"),
    "model": (str, "text such as rules or a model's name"),
    "guards": (Mapping, "a mapping of names to functions"),
    "generators": (Mapping, "a mapping of names to functions"),
    "home": ((str, Path, Memory), "a folder or MEMORY"),
}
"""The types that keywords take beside None; limits and `search` are checked when the run is prepared."""
GRACE_SECONDS = 10.0
"""How long a run that is parked from Python waits for replies in flight."""
_KEYWORDS = {"--model": "model", "PROBLEM": "problem"}
"""The keywords by the names of the command line, which errors may have."""


@dataclass(frozen=True, slots=True)
class _Options:
    """The keywords of `start`."""

    run: RunOptions
    """The options of the run."""
    model: str | None
    """The model, as after `--model`."""
    guards: Mapping[str, AnyGuard]
    """Guards that are passed in, by name."""
    generators: Mapping[str, Generate]
    """Generators that are passed in, by name."""
    home: Path | str | Memory | None
    """The home; None for `$REPLAN_HOME`."""
    ask: Ask | None
    """Answers questions."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment, with the home of the keyword."""
        if self.home is None or isinstance(self.home, Memory):
            return os.environ
        return {**os.environ, "REPLAN_HOME": str(self.home)}


def solve(problem: str, **options: Any) -> Result:
    """Plan a problem and return the result; the options are those of `start`.

    Whether there is a plan is a value (`result.succeeded`), not an error. Raises `UsageProblem` for bad input, and when
    called inside a trio program, where `await asolve(...)` is meant.
    """
    if trio.lowlevel.in_trio_run():
        raise UsageProblem("solve() would block this trio program", place="solve", hint="await replan.asolve(...)")
    return trio.run(partial(asolve, problem, **options))


async def asolve(problem: str, **options: Any) -> Result:
    """Plan a problem under trio; the options are those of `start`. Cancelling it parks nothing and loses nothing."""
    async with start(problem, **options) as run:
        return await run.result()


@dataclass
class Run:
    """A run that is being driven. Iterate over it for its records as they are written; `await result()` for the end."""

    run_id: str
    stop: Stop = field(default_factory=lambda: Stop(grace=GRACE_SECONDS))
    _records: list[Record[Any]] = field(default_factory=list)
    _changed: trio.Event = field(default_factory=trio.Event)
    _ended: trio.Event = field(default_factory=trio.Event)
    _result: Result | None = None
    _error: Exception | None = None

    async def result(self) -> Result:
        """Wait until the run has finished, waits for a person, or was parked; return what it came to.

        Raises what driving it raised, such as `UsageProblem`.
        """
        await self._ended.wait()
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    async def __aiter__(self) -> AsyncIterator[Record[Any]]:
        """Yield every record from the first on, and end when the run comes to rest. Several may listen."""
        place = 0
        while True:
            while place < len(self._records):
                yield self._records[place]
                place += 1
            if self._ended.is_set():
                return
            await self._changed.wait()

    def park(self) -> None:
        """Ask for nothing new, and stop once the replies in flight are in (10 seconds at most)."""
        self.stop.requested.set()

    def _append(self, record: Record[Any], _: Any) -> None:
        self._records.append(record)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _drive(self, engine: Engine, request: RunRequest, ask: Ask | None) -> None:
        session = RunSession(engine, self.run_id, self._append)
        try:
            result = await session.begin(request, self.stop)  # Here: no host has what was passed to this run.
            while ask is not None and result.status == "waiting" and result.question is not None:
                answer = ask(result.question)
                text = _answer(await answer if inspect.isawaitable(answer) else answer)
                if not text:
                    break
                await engine.answer(str(result.question["id"]), text)
                result = await session.drive(self.stop)
            assert isinstance(result, Result)
            self._result = result
        except Exception as error:  # noqa: BLE001 -- kept for `result`, which raises it where it is awaited
            self._error = error
        finally:
            self._ended.set()
            self._notify()


@asynccontextmanager
async def start(
    problem: str,
    *,
    workflow: str | Path = "search",
    search: str | None = None,
    model: str | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost_usd: float | None = None,
    deadline_seconds: float | None = None,
    active_seconds: float | None = None,
    output_tokens: int | None = None,
    patience_seconds: float | None = None,
    guards: Mapping[str, AnyGuard] | None = None,
    generators: Mapping[str, Generate] | None = None,
    home: Path | str | Memory | None = None,
    ask: Ask | None = None,
) -> AsyncIterator[Run]:
    """Start a run under trio and yield it while it is driven; leaving the block early parks it.

    `workflow` is a shipped name or a file; `model` is as after `--model` (None: `REPLAN_MODEL`, else `rules`). A
    limit that is None is the workflow's, or none; `active_seconds` limits how long models and guards work, and
    waiting for people does not count; `output_tokens` limits each reply. A provider that stays down for
    `patience_seconds` in all (None: ten minutes) parks the run: its status is then `parked`, its cause `provider`.
    `guards` and `generators` are functions by the name that the workflow uses, beside those installed. `home` is a
    folder, None for `$REPLAN_HOME`, or `MEMORY`. `ask` answers questions; without it, or when it returns None or an
    empty text, a run that needs an answer ends with the status `waiting`.

    Raises `UsageProblem`, whose place is the keyword, before anything is written.
    """
    _check_types(workflow=workflow, model=model, guards=guards, generators=generators, home=home)
    if ask is not None and not callable(ask):
        raise UsageProblem(f"should be a function, not {type(ask).__name__}", place="ask")
    run_options = RunOptions(
        workflow=os.fspath(workflow),
        search=search,
        max_calls=max_calls,
        max_tokens=max_tokens,
        max_cost_usd=max_cost_usd,
        deadline_seconds=deadline_seconds,
        active_seconds=active_seconds,
        output_tokens=output_tokens,
        patience_seconds=patience_seconds,
    )
    options = _Options(run_options, model, guards or {}, generators or {}, home, ask)
    try:
        request = _prepare(problem, options)
    except UsageProblem as wrong:
        raise UsageProblem(wrong.cause, place=_KEYWORDS.get(wrong.place, wrong.place), hint=wrong.hint) from wrong
    try:
        async with _open_engine(options) as engine, trio.open_nursery() as nursery:
            run = Run(new_run_id())
            nursery.start_soon(run._drive, engine, request, ask)  # noqa: SLF001 -- the handle and its driver are one
            try:
                yield run
            finally:
                run.park()
    except BaseExceptionGroup as group:
        # Only the block itself fails here, and its author does not know of the nursery.
        raise group.exceptions[0] if len(group.exceptions) == 1 else group from None


def _answer(answer: object) -> str:
    """Return the answer of `ask` as text, empty for none. Raises `UsageProblem` for anything else."""
    if answer is None:
        return ""
    if not isinstance(answer, str):
        cause = f"an answer is text, or None for none, not {type(answer).__name__}"
        raise UsageProblem(cause, place="ask", hint=f"the run waits; `{program()} answer` goes on with it")
    return answer.strip()


def _check_types(**given: object) -> None:
    """Check the types of keywords. Raises `UsageProblem` that names the keyword."""
    for name, value in given.items():
        types, form = _TYPES[name]
        if value is None and name != "workflow":
            continue
        if not isinstance(value, types):
            raise UsageProblem(f"should be {form}, not {type(value).__name__}", place=name)
        for key, function in value.items() if isinstance(value, Mapping) else ():
            if not callable(function):
                raise UsageProblem(f"{key!r} is of type {type(function).__name__}, not a function", place=name)


def _prepare(problem: str, options: _Options) -> RunRequest:
    prepared = prepare(
        problem,
        options.run,
        options.model,
        registry=registry(options.guards, options.generators),
        environment=options.environment,
        config=UserConfig() if options.home is MEMORY else None,
    )
    prepared.check_model()
    return prepared.request


@asynccontextmanager
async def _open_engine(options: _Options) -> AsyncIterator[Engine]:
    known = registry(options.guards, options.generators)
    if isinstance(options.home, Memory):
        clock = SystemClock()
        kinds = Kinds()
        async with open_journal("memory:", kinds.codecs, clock) as journal:
            yield Engine(journal=journal, registry=known, clock=clock, kinds=kinds)
        return
    async with open_home(registry=known, environment=options.environment) as engine:
        yield engine


def check(
    plan: Mapping[str, Any] | str,
    *,
    level: str = "medium",
    assurance: str = "strong_cyclic",
    r_max: int = Settings().r_max,
    guard_catalog: Sequence[str] = (),
) -> Verdict:
    """Judge a plan (a JSON value, or text that holds one) at a level: minimal, medium or expansive.

    A rejection is a value. `guard_catalog` are guard names that steps may use beside the default ones; `r_max` bounds
    the plan's total budget; `assurance` is what expansive asks of the traces that do not escalate. Raises
    `UsageProblem` for a level or a setting that does not exist.
    """
    guard = BUILT_IN.get(f"plan_{level}")
    if guard is None:
        raise UsageProblem(f"there is no level {level!r}", place="level", hint="minimal, medium or expansive")
    text = plan if isinstance(plan, str) else json.dumps(plan)
    judge = guard({"assurance": assurance, "r_max": r_max, "guard_catalog": list(guard_catalog)})
    return judge(Artifact(artifact_id="plan", step="plan", content=text), Context(specification=""))
