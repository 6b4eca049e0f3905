"""Kinds of agents: one value says everything that the engine and the faces need to know about a kind.

A kind is registered by an entry point of the group `replan.kinds`, whose name is the kind's and whose value is the
import path of a `Kind`. Then `runs, show, questions, answer, tell, cancel, resume, log, host` work for its runs.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from actors.run import records
from actors.run.calls import Replied
from actors.run.fork_event import ForkWorkspace
from actors.run.ids import step_of
from actors.run.state import NotStarted, RunState
from actors.run.views import Views
from actors.run.waits import Started, WaitRequested
from actors.values.model_settings import ModelSettings
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.core.ledger import Price
from runtime.models.port import Fault
from runtime.models.providers import CALL_SECONDS

if TYPE_CHECKING:  # Reading a run needs no event loop.
    from actors.run.machine import BegunState, RunMachine
    from runtime.core.clock import Clock
    from runtime.drive.actor import Actor
    from runtime.models.sharing import CallSlot

    Actors = Sequence[Actor[Any, Any]]

S = TypeVar("S", bound="BegunState")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A run that makes the result of a step of another run. Its kind may be another one."""

    run: str
    """Its id: `actors.run.ids.child_run` makes one from the parent's id."""
    kind: str
    """The name of its kind, which says what drives it."""
    title: str
    """The title of the run in lists."""
    first: Callable[[float], Started]
    """Returns its first event, from the time in UTC seconds since 1970."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """The message that brings its settings up to date (`actors.run.settings`), where they were changed; else empty."""


DriveChild = Callable[[ChildRun], Awaitable[Any]]
"""Drives a child run to its end and returns its last state; None if its driver was parked before.

A child that has begun goes on where its journal ends, and one that has finished is only read, unless it has failed. The
state of one that waits for its provider is returned too. Raises `Halted` for a run that only a person can continue.
"""


Probe = Callable[[WaitRequested], Awaitable[Fault | None]]
"""Asks a provider that has failed whether it is up; returns its fault if it is not."""


def no_limit(_model: str = "", /) -> AbstractAsyncContextManager[None]:
    """Return a slot of calls that are not limited."""
    return nullcontext()


async def _refuse_child(child: ChildRun) -> Any:
    raise UsageProblem("no child runs can be driven here", place=child.run)


@dataclass(frozen=True)
class Resources:
    """The resources that the process that drives a run gives its actors."""

    model: Any
    """The model that `Kind.model` names, opened (`runtime.models.port.Model`); None where it names none."""
    clock: "Clock"
    """The clock that waits go by."""
    registry: Any = None
    """The guards and generators by name (`actors.handlers.registry.Registry`): built in, installed and passed in."""
    root: Path = field(default_factory=Path)
    """The folder of the shipped `configs/` and `prompts/`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The environment variables of the process."""
    home: Path = field(default_factory=Path)
    """The home's folder."""
    threads: bool = True
    """Whether slow work may run in threads; not in a simulation."""
    probe: Probe | None = None
    """Asks the provider of the model whether it is up, without cost; None for a model in this process."""
    slot: "CallSlot" = no_limit
    """The context in which a call to the model is sent: it waits for a free slot of the model's provider."""
    drive_child: DriveChild = _refuse_child
    """Drives the child runs."""


class PreparedRun(Protocol):
    """A run that may begin: everything about it is resolved and checked, and nothing is written."""

    @property
    def kind(self) -> str:
        """The name of its kind."""
        ...

    @property
    def title(self) -> str:
        """The title of the run in lists."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices for the user before the run starts."""
        ...

    def first(self, run: str, at: float) -> Started:
        """Return its first event under an id, at a time in UTC seconds since 1970; it is the message that starts it.

        The event holds all that later decisions use: resolved configuration, limits, model and price.
        """
        ...


@dataclass(frozen=True)
class Setup:
    """The resources that a run is prepared with, beside the user's input."""

    model: str
    """The model that the user has chosen, in the form of `--model`."""
    price: Price | None
    """The model's price; None where it is unknown."""
    registry: Any
    """The guards and generators by name, as in `Resources`."""
    root: Path
    """The folder of the shipped `configs/` and `prompts/`."""
    environment: Mapping[str, str]
    """The environment variables of the process."""
    now: float
    """The time of the preparation, in UTC seconds since 1970."""
    daily_usd: float | None = None
    """The home's daily budget in dollars; None for none. With one, the model's price must be known."""
    call_seconds: float = CALL_SECONDS
    """The time limit of one call of the model in seconds, where nobody sets one."""
    call_seconds_of: Callable[[str], float] = lambda _: CALL_SECONDS
    """Returns the same for another model."""
    price_of: Callable[[str], Price | None] = lambda _: None
    """Returns the price of another model; None where it is unknown. Raises `UsageProblem` for one that is not there."""
    settings_of: Callable[[str], ModelSettings] = lambda _: ModelSettings()
    """Returns the settings that the user has configured for a model."""

    def check_price(self, *, limited: bool, others: Mapping[str, Price | None] = MappingProxyType({})) -> None:
        """Raise `UsageProblem` where money is limited, by the run (`limited`) or by the day, and no price is known.

        `others` are the prices of further models of the run, by name.
        """
        unknown = [name for name, price in ((self.model, self.price), *others.items()) if price is None]
        if not unknown or not (limited or self.daily_usd is not None):
            return
        cause, place = f"the price of {unknown[0]!r} is not known", "max_cost" if limited else "home_budget.usd"
        hint = "give its price under prices in config.yaml, or limit home_budget by calls"
        if limited:
            keys = "input_usd_per_mtok and output_usd_per_mtok"
            hint = f"give {keys} under prices in config.yaml, or limit calls or tokens"
        raise UsageProblem(cause, place=place, hint=hint)


@dataclass(frozen=True, slots=True)
class ForkConfig:
    """The configuration of a fork, where it is not that of the run that it was forked from."""

    pinned: str
    """Its JSON, as in the kind's first event."""
    stop_below: float | None = None
    """The limit `stop_below` that goes with it."""


def _run_state(state: Any) -> RunState[Any] | None:
    return None if isinstance(state, NotStarted) else state.run


def _refuse_preparation(_: Any, __: Setup) -> PreparedRun:
    raise UsageProblem("runs of this kind are started by the program that provides it")


def _refuse_other_workflow(_: Any, workflow: str | None, __: str | None, ___: Setup) -> ForkConfig:
    place = "policy" if workflow is None else "workflow"
    raise UsageProblem(f"runs of this kind take no other {place}", place=place, hint="leave it out")


def _refuse_correction(_: Any, __: str) -> Mapping[str, Any] | None:
    return None


@dataclass(frozen=True)
class Kind(Generic[S, E]):
    """A kind of agent: `E` is the union of its events; all functions but `actors` are pure.

    `S` is the state of a run that has begun; only the machine knows a run without any event.
    """

    name: str
    """Its name, which is stored with every run. Frozen."""
    machine: "RunMachine[S, E]"
    """Its machine, which has no state of its own: one value serves all runs."""
    codec: Codec[E]
    """The codec of its events, with the version of their format."""
    actors: (
        "Callable[[S, Resources], Sequence[Actor[Any, Any]] | AbstractAsyncContextManager[Sequence[Actor[Any, Any]]]]"
    )
    """Returns the actors of a run that has begun, or a context manager that opens and closes what they need."""
    prepare: Callable[[Any, Setup], PreparedRun] = _refuse_preparation
    """Returns a run that may begin, from user input of a type that is the kind's own. Raises `UsageProblem`."""
    model: Callable[[S], str | None] = lambda _: None
    """Returns the model that a begun run uses, in the form of `--model`; None for none."""
    step_models: Callable[[S], Mapping[str, str]] = lambda _: {}
    """Returns the models that steps of a begun run use in place of that one, by step."""
    children: Callable[[S], Sequence[str]] = lambda _: ()
    """Returns the ids of the child runs of a begun run, the oldest first."""
    run_state: Callable[[S], RunState[Any] | None] = _run_state
    """Returns the common part of a state; None before the run began."""
    made_from: Callable[[S], str] = lambda _: ""
    """Returns the id of the run whose result a begun run was made from, such as its plan; empty for none."""
    title: Callable[[S], str | None] = lambda _: None
    """Returns the title that a begun run was admitted with, for checks; None where its records do not say."""
    purpose: Callable[[Replied], str] = lambda event: step_of(event.request_id)
    """Returns the purpose of a reply; a scripted model has a list of replies for each purpose."""
    missing: Callable[[S, Any], Sequence[str]] = lambda _, __: ()
    """Returns the plug-ins that a begun run needs and the registry lacks, such as `guard 'mine'`."""
    drift: Callable[[E, S, Resources], str] = lambda _, __, ___: ""
    """Returns a line about the changes of a run's files since its start (its first event); empty for none."""
    log_fields: Callable[[E, S], Mapping[str, str | int]] = records.log_fields
    """Returns the subject of an event for logs and actors: `step`, `node`, `branch` or fields of its own."""
    correction: Callable[[S, str], Mapping[str, Any] | None] = _refuse_correction
    """Returns the message for a text with a value, such as `FIELD=VALUE`; None for a plain note.

    Raises `UsageProblem` with the reason for one that the run cannot take.
    """
    fork_workspace: Callable[[Iterable[tuple[E, S]]], ForkWorkspace | None] = lambda _: None
    """Returns the workspace that a fork copies, from a run's events with the states after them; None for none."""
    in_workspace: Callable[[S, str], str] = lambda _, __: ""
    """Returns the JSON of the configuration of a run in another workspace, by its absolute path."""
    fork_config: Callable[[S, str | None, str | None, Setup], ForkConfig] = _refuse_other_workflow
    """Returns the configuration of a fork under another workflow, another policy, or both. Raises `UsageProblem`."""
    undo_problem: Callable[[S], str] = lambda _: "only what an execution did can be undone"
    """Returns the reason why a run's actions cannot be undone, as a clause; empty if they can."""
    diagram: Callable[[str, Path], str | None] = lambda _, __: None
    """Returns the Mermaid diagram of a file that runs of this kind are started with, from its shipped name or its path
    and the folder of the shipped files; None for another kind's file. Raises `UsageProblem` for an unreadable one."""
    views: Views[S, E] = field(default_factory=Views)
    """How its runs are shown to people and as JSON."""

    @property
    def takes_other_rules(self) -> bool:
        """Whether a fork of its runs can go on under another workflow or policy."""
        return self.fork_config is not _refuse_other_workflow

    @property
    def takes_values(self) -> bool:
        """Whether people can send values to its runs (`FIELD=VALUE`)."""
        return self.correction is not _refuse_correction

    @property
    def format(self) -> int:
        """The version of the format of its events, which is stored with every run."""
        return self.codec.format
