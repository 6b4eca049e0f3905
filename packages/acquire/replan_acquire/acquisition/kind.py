"""The kind of acquisition runs, registered under the name `acquisition`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actors.run.kind import Kind, Resources
from actors.values.format import title_of
from replan_acquire.acquisition.events import EVENTS, AcquisitionEvent
from replan_acquire.acquisition.machine import AcquisitionMachine
from replan_acquire.acquisition.state import State
from replan_acquire.acquisition.views import VIEWS, log_fields
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec

if TYPE_CHECKING:
    from actors.run.kind import PreparedRun, Setup
    from runtime.drive.actor import Actor

CODEC: Codec[AcquisitionEvent] = Codec(EVENTS, format=1)


def _actors(state: State, resources: Resources) -> "Sequence[Actor[Any, Any]]":
    from replan_acquire.acquisition.actors import actors_for  # noqa: PLC0415 -- reading a run needs none

    return actors_for(state.config, resources)


def _prepare(request: Any, setup: "Setup") -> "PreparedRun":
    from replan_acquire.acquisition.prepare import AcquisitionInput, prepare_acquisition  # noqa: PLC0415 -- as above

    if not isinstance(request, AcquisitionInput):
        hint = "pass an AcquisitionInput with a profile and a goal"
        raise UsageProblem("the task of an acquisition run is not an AcquisitionInput", place="task", hint=hint)
    return prepare_acquisition(request, setup)


def _model(state: State) -> str | None:
    return state.config.model


def _title(state: State) -> str | None:
    return title_of(state.goal)


def _correction(state: State, text: str) -> Mapping[str, Any] | None:
    from replan_acquire.acquisition.answers import make_correction  # noqa: PLC0415 -- most texts are notes

    return make_correction(state, text)


def _diagram(name: str, _: Path) -> str | None:
    from replan_acquire.acquisition.profile_check import is_profile, load_profile  # noqa: PLC0415 -- as above
    from replan_acquire.acquisition.table import graph_for  # noqa: PLC0415 -- as above
    from replan_acquire.acquisition.views import graph_mermaid  # noqa: PLC0415 -- most commands draw none

    return graph_mermaid(graph_for(load_profile(name).profile)) if is_profile(name) else None


ACQUISITION: Kind[State, AcquisitionEvent] = Kind(
    name="acquisition",
    machine=AcquisitionMachine(),
    codec=CODEC,
    actors=_actors,
    prepare=_prepare,
    model=_model,
    title=_title,
    log_fields=log_fields,
    correction=_correction,
    diagram=_diagram,
    views=VIEWS,
    interface="replan_acquire.interface:INTERFACE",
)
