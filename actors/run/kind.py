"""Kinds of agents. A `Kind` has everything that the engine and the interfaces need to know about a kind.

An entry point of the group `replan.kinds` registers a kind. The name of the entry point is the kind's name, and its
value is the import path of a `Kind`. The commands `runs, show, questions, answer, tell, cancel, resume, log, host` work
for runs of a registered kind.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

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
    from actors.config.model_profiles import ModelProfile
    from actors.run.machine import BegunState, RunMachine
    from actors.run.near_limit import LimitNear
    from runtime.core.clock import Clock
    from runtime.drive.actor import Actor
    from runtime.models.provider_state import CallSlot

    Actors = Sequence[Actor[Any, Any]]

S = TypeVar("S", bound="BegunState")
E = TypeVar("E")


async def _tell_nobody(_: "LimitNear") -> None:
    """Ignore a warning."""


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A run that makes the result of a step of another run. The two runs may be of different kinds."""

    run: str
    """The id of the child run, which `actors.run.ids.child_run` makes from the parent's id."""
    kind: str
    title: str
    first: Callable[[float], Started]
    """Returns the first event of the child run. The argument is the time in UTC seconds since 1970."""
    change: Mapping[str, Any] = field(default_factory=dict)
    """The message with changed settings for the child run (`actors.run.settings`); empty if nothing changed."""
    tell: Callable[["LimitNear"], Awaitable[object]] = _tell_nobody
    """Sends warnings about limits to the parent run."""


DriveChild = Callable[[ChildRun], Awaitable[Any]]
"""Drives a child run to its end, and returns the last state of the child run. Returns None if the child run was parked
before its end.

A child that has begun goes on from the end of its journal. The last state of a finished child is returned without
driving it again. There are two exceptions: a failed child may be resumed, and so may a child with a new deadline. The
state is also returned if the child waits for its provider. Raises `Halted` for a child run that only a person can
continue.
"""


Probe = Callable[[WaitRequested], Awaitable[Fault | None]]
"""Checks whether a provider is up again after a fault. Returns the provider's new fault, or None if the provider is
up."""


def no_limit(_model: str = "", /) -> AbstractAsyncContextManager[None]:
    """Return a context manager in which a call begins at once, because the number of open calls is not limited."""
    return nullcontext()


async def _refuse_child(child: ChildRun) -> Any:
    raise UsageProblem("this process cannot drive child runs", place=child.run)


@dataclass(frozen=True)
class Resources:
    """The resources that the driving process provides to a run's actors."""

    model: Any
    """The model (`runtime.models.port.Model`) of `Kind.model`, opened; None if the run uses no model."""
    clock: "Clock"
    registry: Any = None
    """All guards and generators by name (`actors.handlers.generators.Registry`): built-in, installed and passed by the
    user.
    """
    root: Path = field(default_factory=Path)
    environment: Mapping[str, str] = field(default_factory=dict)
    home: Path = field(default_factory=Path)
    threads: bool = True
    """Whether slow work may run in threads; False in a simulation."""
    probe: Probe | None = None
    """Checks without cost whether the model's provider is up; None for a model in this process."""
    slot: "CallSlot" = no_limit
    """The context manager around each call to the model. The context manager waits for a free slot of the model's
    provider.
    """
    drive_child: DriveChild = _refuse_child


class PreparedRun(Protocol):
    """A run that is ready to begin. The run's input is resolved and checked, and nothing is written yet."""

    @property
    def kind(self) -> str:
        """The name of the run's kind."""
        ...

    @property
    def title(self) -> str:
        """The title of the run in lists."""
        ...

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices to show the user before the run starts."""
        ...

    @property
    def other_models(self) -> Sequence[str]:
        """The models that the steps use in addition to the run's own model, in the form of `--model`."""
        ...

    def first(self, run: str, at: float) -> Started:
        """Return the first event, which is the message that starts the run. `at` is in UTC seconds since 1970.

        The event has everything that later decisions need: the resolved configuration, limits, model and price.
        """
        ...


@dataclass(frozen=True)
class Setup:
    """The inputs for preparing a run, in addition to the user's input."""

    model: str
    price: Price | None
    registry: Any
    root: Path
    environment: Mapping[str, str]
    now: float
    """The time of the preparation, in UTC seconds since 1970."""
    daily_usd: float | None = None
    """The home's daily budget in dollars; None if there is no budget. With a budget, the model's price must be known.
    """
    call_seconds: float = CALL_SECONDS
    """The default time limit of one call of the model, in seconds."""
    call_seconds_of: Callable[[str], float] = lambda _: CALL_SECONDS
    """Returns the default time limit of a call of another model, in seconds."""
    price_of: Callable[[str], Price | None] = lambda _: None
    """Returns the price of another model; None if it is unknown. Raises `UsageProblem` if the model does not exist."""
    settings_of: Callable[[str], ModelSettings] = lambda _: ModelSettings()
    """Returns the settings that the user has configured for a model."""
    profile_of: Callable[[str], "ModelProfile | None"] = lambda _: None
    """Returns the measured profile of a model; None if there is no profile. Raises `UsageProblem` if the file of
    profiles is invalid.
    """

    def check_price(self, *, limited: bool, others: Mapping[str, Price | None] = MappingProxyType({})) -> None:
        """Raise `UsageProblem` if a price is unknown, and the run or the day has a limit of money.

        `limited` says whether the run has one. `others` has the prices of the run's further models; the keys are their
        names.
        """
        unknown = [name for name, price in ((self.model, self.price), *others.items()) if price is None]
        if not unknown or not (limited or self.daily_usd is not None):
            return
        cause, place = f"the price of {unknown[0]!r} is not known", "max_cost" if limited else "home_budget.usd"
        hint = "give its price under `prices` in config.yaml, or limit `home_budget` by calls"
        if limited:
            keys = "input_usd_per_mtok and output_usd_per_mtok"
            hint = f"give {keys} under `prices` in config.yaml, or limit calls or tokens"
        raise UsageProblem(cause, place=place, hint=hint)


class ForkConfig(NamedTuple):
    """The configuration of a fork, if it differs from the other run's configuration."""

    pinned: str
    """The configuration as JSON, as in the kind's first event."""
    stop_below: float | None = None


def _run_state(state: Any) -> RunState[Any] | None:
    return None if isinstance(state, NotStarted) else state.run


def _refuse_preparation(_: Any, __: Setup) -> PreparedRun:
    raise UsageProblem("only the program that provides this kind can start its runs")


def _refuse_other_workflow(_: Any, workflow: str | None, __: str | None, ___: Setup) -> ForkConfig:
    place = "policy" if workflow is None else "workflow"
    raise UsageProblem(f"a fork of this kind of run cannot use another {place}", place=place, hint="leave it out")


def _refuse_correction(_: Any, __: str) -> Mapping[str, Any] | None:
    return None


@dataclass(frozen=True)
class Kind(Generic[S, E]):
    """A kind of agent. `E` is the union of its events. All functions but `actors` are pure.

    `S` is the type of the state of a run that has begun. Only the machine handles runs without events.
    """

    name: str
    """The name of the kind. Runs store the name, so it must never change."""
    machine: "RunMachine[S, E]"
    """The machine of the kind's runs. The machine has no state, so all runs share one machine."""
    codec: Codec[E]
    """The codec of the kind's events, which has the version of the event format."""
    actors: (
        "Callable[[S, Resources], Sequence[Actor[Any, Any]] | AbstractAsyncContextManager[Sequence[Actor[Any, Any]]]]"
    )
    """Returns the actors of a run that has begun, or a context manager that opens and closes resources for them."""
    prepare: Callable[[Any, Setup], PreparedRun] = _refuse_preparation
    """Returns a run that may begin, from user input of the kind's own type. Raises `UsageProblem`."""
    model: Callable[[S], str | None] = lambda _: None
    """Returns the model of a begun run, in the form of `--model`; None if the run uses no model."""
    step_models: Callable[[S], Mapping[str, str]] = lambda _: {}
    """Returns a mapping from each step that does not use the run's model to its model."""
    children: Callable[[S], Sequence[str]] = lambda _: ()
    """Returns the ids of the child runs of a begun run, the oldest first."""
    run_state: Callable[[S], RunState[Any] | None] = _run_state
    """Returns the part of a state that every kind has; None before the run has begun."""
    made_from: Callable[[S], str] = lambda _: ""
    """Returns the id of the earlier run whose result, such as a plan, a begun run uses; empty without an earlier run.
    """
    title: Callable[[S], str | None] = lambda _: None
    """Returns the title of a begun run from its records, for checks; None if the records have no title."""
    purpose: Callable[[Replied], str] = lambda event: step_of(event.request_id)
    """Returns the purpose of a reply. A scripted model has a list of replies for each purpose."""
    missing: Callable[[S, Any], Sequence[str]] = lambda _, __: ()
    """Returns the plug-ins that a begun run needs but the registry lacks, such as `guard 'mine'`."""
    drift: Callable[[E, S, Resources], str] = lambda _, __, ___: ""
    """Returns a line about changes of a run's files since its first event; empty if nothing has changed."""
    log_fields: Callable[[E, S], Mapping[str, str | int]] = records.log_fields
    """Returns fields about the subject of an event, for logs and actors: `step`, `node`, `branch` or the kind's own
    fields.
    """
    correction: Callable[[S, str], Mapping[str, Any] | None] = _refuse_correction
    """Returns the message to send for a text that sets a value, such as `FIELD=VALUE`; None for a plain note.

    Raises `UsageProblem` with the reason if the run cannot accept it.
    """
    fork_workspace: Callable[[Iterable[tuple[E, S]]], ForkWorkspace | None] = lambda _: None
    """Returns the workspace to copy for a fork; None if there is none. The argument has each event with the state after
    it.
    """
    in_workspace: Callable[[S, str], str] = lambda _, __: ""
    """Returns the configuration of a run as JSON, with another workspace. The argument is its absolute path."""
    learner: Callable[[E], Callable[[Sequence[E]], E] | None] = lambda _: None
    """Returns a function that changes the first event of a new run; None if the event stays unchanged. The function
    gets the last events of the newest finished runs of this kind in the home.
    """
    fork_config: Callable[[S, str | None, str | None, Setup], ForkConfig] = _refuse_other_workflow
    """Returns the configuration of a fork with another workflow, another policy, or both. Raises `UsageProblem`."""
    undo_problem: Callable[[S], str] = lambda _: "only the actions of an execution can be undone"
    """Returns why a run's actions cannot be undone, as a clause; empty if they can be undone."""
    diagram: Callable[[str, Path], str | None] = lambda _, __: None
    """Returns the Mermaid diagram of a file from which runs of this kind start; None for a file of another kind.

    The arguments are the file's shipped name or path, and the folder of the shipped files. Raises `UsageProblem` if the
    file is unreadable.
    """
    views: Views[S, E] = field(default_factory=Views)
    interface: str = ""
    """The import path `MODULE:OBJECT` of the kind's `replan.runs.kind_interface.KindInterface`; empty if there is none.

    With an interface, the HTTP API, the MCP server and the web page can start runs of the kind.
    """

    @property
    def takes_other_rules(self) -> bool:
        """Whether a fork of a run of the kind can use another workflow or policy."""
        return self.fork_config is not _refuse_other_workflow

    @property
    def takes_values(self) -> bool:
        """Whether people can send values (`FIELD=VALUE`) to runs of the kind."""
        return self.correction is not _refuse_correction

    @property
    def format(self) -> int:
        """The version of the format of the kind's events, which is stored with every run."""
        return self.codec.format
