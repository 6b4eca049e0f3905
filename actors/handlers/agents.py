"""Makes a new kind of run from a small agent, without further code by the agent's author.

`agent_kind` makes an `actors.run.kind.Kind` from an `actors.run.agent.Agent` and the tools that the agent may call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from actors.config.model_spec import check_settings
from actors.handlers.handlers import complete, wait
from actors.handlers.tools import Tool, tool_actor
from actors.run.agent import AGENT_EVENTS, Agent, AgentEvent, AgentSettings, AgentStarted, AgentState, D
from actors.run.agent_machine import AgentMachine
from actors.run.kind import Kind, Resources, Setup
from actors.run.machine import MODEL
from actors.run.views import Views, rebuilt_prompt
from actors.run.waits import CLOCK
from actors.values.format import title_of
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.core.ledger import Limits
from runtime.drive.actor import Actor

CALLS_SIDE_BY_SIDE = 16
"""The largest number of model calls that one run makes at the same time."""
WAITS_MAX = 1024
"""The largest number of waits that one run has open at a time. The deadline, each back-off, and the expiry of each
question are one wait each."""

AgentKind = Kind[AgentState[D], AgentEvent]
"""The kind of a small agent whose data has the type `D`."""
Tools = Callable[[Resources], Sequence[Tool]]
"""A function that returns the tools of a run. Its argument is the resources of the process that drives the run."""


@dataclass(frozen=True)
class AgentTask:
    """The input for `prepare` of a small agent's kind: the user's task and limits."""

    task: str
    """The task for the agent: text or JSON."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class PreparedAgent:
    """A prepared run of a small agent (`actors.run.kind.PreparedRun`)."""

    kind: str
    task: AgentTask
    settings: AgentSettings
    notices: tuple[str, ...] = ()
    other_models: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The title of the run in lists: the task's first line, cut to 80 characters."""
        return title_of(self.task.task)

    def first(self, run: str, at: float) -> AgentStarted:
        """Return the first event of the run."""
        return AgentStarted(at=at, run=run, task=self.task.task, limits=self.task.limits, settings=self.settings)


def agent_kind(
    name: str,
    agent: Agent[D],
    tools: Tools = lambda _: (),
    *,
    settings: AgentSettings = AgentSettings(),  # noqa: B008 - a frozen value
) -> AgentKind[D]:
    """Return the kind of a small agent.

    `tools` returns the tools that a run may call, and is called each time a process starts to drive the run. All runs
    of the kind have the configuration `settings`, except for the model and its price. The user of a run chooses the
    model.
    """
    machine = AgentMachine(agent)
    return Kind(
        name=name,
        machine=machine,
        codec=Codec(AGENT_EVENTS),
        actors=lambda _, resources: _agent_actors(resources, tools(resources)),
        prepare=partial(_prepare, name, settings),
        model=lambda state: state.config.model or None,
        views=Views(prompt=partial(rebuilt_prompt, machine)),
    )


def _prepare(kind: str, settings: AgentSettings, task: object, setup: Setup) -> PreparedAgent:
    task = AgentTask(task) if isinstance(task, str) else task
    if not isinstance(task, AgentTask):
        raise UsageProblem("the task is not a string", place="task", hint="pass a string, or an AgentTask with limits")
    if not task.task.strip():
        raise UsageProblem("the task is empty", place="task")
    setup.check_price(limited=task.limits.micro_usd is not None)
    of_calls = settings.model_settings.fill_from(setup.settings_of(setup.model))
    check_settings(setup.model, of_calls.body)
    update = {"model": setup.model, "price": setup.price, "model_settings": of_calls}
    return PreparedAgent(kind, task, settings.model_copy(update=update))


def _agent_actors(resources: Resources, tools: Sequence[Tool] = ()) -> list[Actor[Any, Any]]:
    clock = resources.clock
    model: Actor[Any, Any] = Actor(
        MODEL, partial(complete, resources.model, clock, resources.slot), concurrency=CALLS_SIDE_BY_SIDE
    )
    return [
        model,
        Actor(CLOCK, partial(wait, clock, resources.probe), concurrency=WAITS_MAX),
        *(tool_actor(tool, clock.now) for tool in tools),
    ]
