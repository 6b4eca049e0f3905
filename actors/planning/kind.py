"""The run kind `planning`, for planning runs."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from actors.config.model_spec import is_author
from actors.planning.config import read_config
from actors.planning.events import EVENTS, FailureClassified, PlanningEvent, RunStarted
from actors.planning.machine import PlanningMachine
from actors.planning.state import State
from actors.planning.views import VIEWS, log_fields
from actors.policy.table import CLASSIFIER
from actors.run.calls import Replied
from actors.run.ids import child_run, step_of
from actors.run.kind import Kind, Resources
from actors.values.format import title_of
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec

if TYPE_CHECKING:
    from actors.handlers.generators import Registry
    from actors.run.kind import ForkConfig, PreparedRun, Setup
    from runtime.drive.actor import Actor

CODEC: Codec[PlanningEvent] = Codec(EVENTS)


def _actors(state: State, resources: Resources) -> "list[Actor[Any, Any]]":
    from actors.planning.children import actors_for  # noqa: PLC0415 -- reading a run needs none

    return actors_for(state.config, resources)


def _prepare(request: Any, setup: "Setup") -> "PreparedRun":
    from actors.planning.prepare import PlanningInput, prepare_planning  # noqa: PLC0415 -- as above

    if isinstance(request, str):
        request = PlanningInput(request)
    if not isinstance(request, PlanningInput):
        raise UsageProblem("the task of a planning run must be text", place="task", hint="pass the problem as a string")
    return prepare_planning(request, setup)


def _children(state: State) -> list[str]:
    run, config = state.run.run_id, state.config
    return [child_run(run, name) for name, node in state.nodes.items() if config.child_of(node.step)]


def _purpose(reply: Replied) -> str:
    return CLASSIFIER if isinstance(reply, FailureClassified) else step_of(reply.request_id)


def _missing_names(state: State, registry: "Registry") -> Sequence[str]:
    files = {plugin.plugin: f" of {plugin.file}" for plugin in state.plugins}
    names = dict.fromkeys(name for item in state.config.all for name in registry.find_missing(item.workflow))
    return tuple(f"{name}{files.get(name, '')}" for name in names)


def _drift(started: PlanningEvent, _: State, resources: Resources) -> str:
    from actors.planning.prepare import describe_changed_plugins, describe_edits  # noqa: PLC0415 -- as above

    assert isinstance(started, RunStarted)
    changed = describe_changed_plugins(started, resources.registry)
    edits = describe_edits(started, read_config(started.pinned), resources.registry, resources.root)
    return "; ".join(filter(None, (edits, changed)))


def _fork_config(state: State, workflow: str | None, policy: str | None, setup: "Setup") -> "ForkConfig":
    from actors.planning.prepare import fork_config  # noqa: PLC0415 -- as above

    return fork_config(state, workflow, policy, setup)


def _learner(first: PlanningEvent) -> "Callable[[Sequence[PlanningEvent]], PlanningEvent] | None":
    assert isinstance(first, RunStarted)
    if not is_author(read_config(first.pinned).model):
        return None
    from actors.planning.attempt_counts import learner  # noqa: PLC0415 -- as above

    return learner(first)


PLANNING: Kind[State, PlanningEvent] = Kind(
    name="planning",
    machine=PlanningMachine(),
    codec=CODEC,
    actors=_actors,
    prepare=_prepare,
    model=lambda state: state.config.model,
    step_models=lambda state: {step: own.model for step, own in state.config.step_models.items()},
    children=_children,
    title=lambda state: title_of(state.specification),
    purpose=_purpose,
    missing=_missing_names,
    drift=_drift,
    learner=_learner,
    fork_config=_fork_config,
    log_fields=log_fields,
    views=VIEWS,
)
