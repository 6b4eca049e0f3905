"""The messages that a call of an acquisition got, rebuilt from the records and checked by the stored hash. Pure."""

from collections.abc import Sequence

from actors.acquisition.call_events import DecompositionRequested, ObservationRequested
from actors.acquisition.events import AcquisitionEvent
from actors.acquisition.machine import AcquisitionMachine
from actors.acquisition.prompt import rendered
from actors.acquisition.state import AcquisitionState, State
from actors.prompting.render import Rendered
from actors.run.calls import CallRequested
from actors.run.ids import step_of
from actors.run.rebuilt_prompt import rebuilt_prompt
from actors.run.views import Near, SentPrompt
from runtime.core.events import Record

_MACHINE = AcquisitionMachine()


def sent_prompt(
    records: Sequence[Record[AcquisitionEvent]], wanted: str, near: Near[AcquisitionState] | None = None
) -> SentPrompt:
    """Return the messages of a call: of the last try of a node such as `observe/v1.a1`, or of one request.

    Raises as `rebuilt_prompt` does.
    """
    return rebuilt_prompt(_MACHINE, records, wanted, near, _prompt)


def _prompt(state: AcquisitionState, request: CallRequested) -> Rendered | None:
    if not isinstance(state, State):
        return None
    path = request.path if isinstance(request, ObservationRequested | DecompositionRequested) else ""
    return rendered(state, step_of(request.node), path)
