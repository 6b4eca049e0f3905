"""The messages by which a model was asked for a file, rebuilt from the records and checked by the stored hash. Pure."""

from collections.abc import Sequence

from actors.execution.events import ExecutionEvent
from actors.execution.machine import ExecutionMachine
from actors.execution.prompt import rendered_file
from actors.execution.state import ExecutionState, State
from actors.prompting.render import Rendered
from actors.run.calls import CallRequested
from actors.run.rebuilt_prompt import rebuilt_prompt
from actors.run.views import Near, SentPrompt
from runtime.core.events import Record

_MACHINE = ExecutionMachine()


def sent_prompt(
    records: Sequence[Record[ExecutionEvent]], wanted: str, near: Near[ExecutionState] | None = None
) -> SentPrompt:
    """Return the messages of a call: of the last try of a node such as `STEP/r1.v1.a1.act`, or of one request.

    Raises as `rebuilt_prompt` does.
    """
    return rebuilt_prompt(_MACHINE, records, wanted, near, _prompt)


def _prompt(state: ExecutionState, request: CallRequested) -> Rendered | None:
    attempt = state.attempt_at(request.node) if isinstance(state, State) else None
    return None if attempt is None or not isinstance(state, State) else rendered_file(state, attempt)
