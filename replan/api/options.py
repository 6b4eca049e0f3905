"""Checks the keywords of the functions that drive a run: plug-ins, home, model, limits and `ask`."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

from actors.guards.port import AnyGuard
from actors.handlers.generators import TextMaker
from actors.run.kind import PreparedRun
from actors.run.limits import LIMITS, RunLimits
from actors.run.open_question import OpenQuestion
from replan.api.loops import run_in_any_loop
from replan.runs.engine import Engine
from replan.runs.home import open_home
from replan.runs.prepare import Prepared
from replan.setup.kinds import Kinds
from replan.setup.model_discovery import with_choices
from replan.setup.plugins import registry
from replan.setup.settings import NoModel, UserConfig
from runtime.core.clock import SystemClock
from runtime.core.errors import UsageProblem
from runtime.journal.port import ORDINARY, Placement
from runtime.journal.validation import check_placement
from runtime.open_journal import open_journal

T = TypeVar("T")

Home = Path | str | None
"""The folder of a home. None means the folder that `$REPLAN_HOME` names. If this variable is not set, None means the
platform's data folder."""


def environment_of(home: Home) -> Mapping[str, str]:
    """Return the environment variables of this process, changed so that they name the home.

    If `home` is given, the journal is the file in this folder, even if `REPLAN_JOURNAL` is set.
    """
    if home is None:
        return os.environ
    return {**os.environ, "REPLAN_HOME": str(home), "REPLAN_JOURNAL": ""}


async def run_at_home(home: Home, work: Callable[[Engine], Awaitable[T]]) -> T:
    """Open a home, call `work` with its engine, close the home, and return the value. A missing home is not created.

    Raises the errors of `open_home`.
    """

    async def opened() -> T:
        async with open_home(environment=environment_of(home), make=False) as engine:
            return await work(engine)

    return await run_in_any_loop(opened)


class Memory(Enum):
    """The type of `MEMORY`."""

    MEMORY = "memory"


MEMORY = Memory.MEMORY
"""A home in memory. It is lost when the call returns: nothing is written, and nothing can be resumed."""

Generate = TextMaker
"""A plug-in generator: a function that takes a context and returns text. It may be async."""
Ask = Callable[[OpenQuestion], str | Awaitable[str | None] | None]
"""A function that answers a question. A question has an `id`, a `text` and a `why`. If the function returns None or an
empty text, the question stays open.
"""

_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "workflow": ((str, Path), "a shipped name or a file"),
    "model": (str, "text such as template:bug or a model's name"),
    "guards": (Mapping, "a mapping of names to functions"),
    "generators": (Mapping, "a mapping of names to functions"),
    "tools": ((str, Path), "a file"),
    "workspace": ((str, Path), "a folder"),
    "home": ((str, Path, Memory), "a folder or MEMORY"),
    "tenant": (str, "a name"),
    "priority": (int, "a whole number"),
}
"""A mapping from a keyword to the types that its value may have, and to the words that describe these types in an
error. Limits and `search` are checked when the run is prepared."""


class FunctionKeywords(TypedDict, total=False):
    """The user's functions that a run calls."""

    guards: Mapping[str, AnyGuard] | None
    """A mapping from names in workflows to guards, in addition to the installed guards."""
    generators: Mapping[str, Generate] | None
    """A mapping from names in workflows to generators, in addition to the installed generators."""
    ask: Ask | None
    """The function that answers the run's questions. Without it, a run that needs an answer gets the status `waiting`.
    """


class DriveKeywords(FunctionKeywords, RunLimits, total=False):
    """The keywords of every function that drives a run, including limits."""

    model: str | None


class StartKeywords(DriveKeywords, total=False):
    """The keywords of every function that starts a run and drives it."""

    tenant: str
    priority: int


_KEYWORDS = {f"--{name}": name for name in ("model", "attach", "repo", "given", "workspace", "tools")} | {
    name.upper(): name for name in ("problem", "goal", "profile")
}
"""A mapping from the name of an option or argument on the command line to the Python keyword. An error may have the
name from the command line as its `place`."""


P = TypeVar("P", bound=PreparedRun)


@dataclass(frozen=True, slots=True)
class Driving:
    """The checked keywords of a function that drives a run."""

    model: str | None = None
    guards: Mapping[str, AnyGuard] = field(default_factory=dict)
    generators: Mapping[str, Generate] = field(default_factory=dict)
    home: Path | str | Memory | None = None
    """The folder of the home, or `MEMORY`; None for `$REPLAN_HOME`, else the platform's data folder."""
    ask: Ask | None = None
    placement: Placement = ORDINARY

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables, changed so that they name the home of the keyword `home`."""
        return environment_of(None if isinstance(self.home, Memory) else self.home)

    def prepare(self, prepare: Callable[..., Prepared[P]]) -> Prepared[P]:
        """Prepare a run with a function of `replan.runs`, and check that its model can be used.

        Raises `UsageProblem` with the keyword or the file as its `place`.
        """
        try:
            prepared = prepare(
                model=self.model,
                registry=registry(self.guards, self.generators),
                environment=self.environment,
                config=UserConfig() if self.home is MEMORY else None,
            )
            prepared.check_model()
        except UsageProblem as caught:
            wrong = with_choices(caught, self.environment) if isinstance(caught, NoModel) else caught
            raise UsageProblem(wrong.cause, place=_KEYWORDS.get(wrong.place, wrong.place), hint=wrong.hint) from caught
        return prepared

    @asynccontextmanager
    async def open_engine(self) -> AsyncIterator[Engine]:
        """Open the home, and yield an engine with its journal and with the plug-ins.

        Raises the errors of `open_home`.
        """
        known = registry(self.guards, self.generators)
        if isinstance(self.home, Memory):
            clock, kinds = SystemClock(), Kinds()
            async with open_journal("memory:", kinds.codecs, clock) as journal:
                yield Engine(
                    journal=journal,
                    registry=known,
                    clock=clock,
                    kinds=kinds,
                    placement=self.placement,
                    by="python",
                    asks=self.ask is not None,
                )
            return
        async with open_home(registry=known, environment=self.environment) as engine:
            yield replace(engine, placement=self.placement, by="python", asks=self.ask is not None)


def read_keywords(
    home: Path | str | Memory | None, keywords: StartKeywords | DriveKeywords
) -> tuple[Driving, RunLimits]:
    """Check the keywords.

    Return the limits separately from the other keywords. Raises `UsageProblem` that names the keyword.
    """
    given: Mapping[str, Any] = keywords
    model, guards, generators = given.get("model"), given.get("guards"), given.get("generators")
    check_types(model=model, guards=guards, generators=generators, home=home)
    ask = given.get("ask")
    if ask is not None and not callable(ask):
        raise UsageProblem(f"should be a function, not {type(ask).__name__}", place="ask")
    placement = placement_of(given.get("tenant", ""), given.get("priority", 0))
    limits = cast("RunLimits", {name: value for name, value in given.items() if name in LIMITS})
    return Driving(model, guards or {}, generators or {}, home, ask, placement), limits


def placement_of(tenant: str, priority: int) -> Placement:
    """Check the keywords `tenant` and `priority`, and return them. Raises `UsageProblem` that names the keyword."""
    check_types(tenant=tenant, priority=priority)
    for place, placement in (("tenant", Placement(tenant)), ("priority", Placement(priority=priority))):
        try:
            check_placement(placement)
        except UsageProblem as problem:
            raise UsageProblem(problem.cause, place=place, hint=problem.hint) from None
    return Placement(tenant, priority)


def check_types(**given: object) -> None:
    """Check the types of keywords. Raises `UsageProblem` that names the keyword."""
    for name, value in given.items():
        types, form = _TYPES[name]
        if value is None and name not in ("workflow", "workspace", "tenant", "priority"):
            continue
        if not isinstance(value, types):
            raise UsageProblem(f"should be {form}, not {type(value).__name__}", place=name)
        for key, function in value.items() if isinstance(value, Mapping) else ():
            if not callable(function):
                raise UsageProblem(f"{key!r} is of type {type(function).__name__}, not a function", place=name)
