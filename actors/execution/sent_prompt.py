"""The messages by which a model was asked for a file, rebuilt from the records and checked by the stored hash. Pure."""

from collections.abc import Sequence

from actors.execution.events import ExecutionCallReissued, ExecutionEvent, FileRequested
from actors.execution.evolve import evolve
from actors.execution.prompt import rendered_file
from actors.execution.state import ExecutionState, State
from actors.files.suggestions import nearest
from actors.prompting.render import Rendered
from actors.run.state import NotStarted
from actors.run.views import Near, SentPrompt
from runtime.core.errors import UsageProblem
from runtime.core.events import Record


def sent_prompt(
    records: Sequence[Record[ExecutionEvent]], wanted: str, near: Near[ExecutionState] | None = None
) -> SentPrompt:
    """Return the messages of a call: of the last try of a node such as `STEP/r1.v1.a1.act`, or of one request.

    `near` gives a state after the first records, from which the run is folded. Raises `UsageProblem` for a call that
    was not made, with the nearest one.
    """
    calls = [(place, call) for place, each in enumerate(records) if (call := _request(each.event)) is not None]
    found = [(place, call) for place, call in calls if wanted in (call.node, call.request_id)]
    if not found:
        known = [call.request_id for _, call in calls]
        hint = nearest(wanted, known, kind="calls") or "no model was asked for a file"
        raise UsageProblem(f"no call {wanted!r} in this run", place="--prompt", hint=hint)
    place, request = found[-1]
    begin, before = (0, NotStarted()) if near is None else near(place)
    for record in records[begin:place]:
        before = evolve(before, record.event)
    states = (before, evolve(before, records[place].event))
    # What a request asks is rendered before it is recorded; a message that the same transaction took is in the second.
    prompts = [prompt for each in states if (prompt := _prompt(each, request.node)) is not None]
    rebuilt = next((prompt for prompt in prompts if prompt.ref == request.prompt_hash), None)
    shown = rebuilt or prompts[0]
    return SentPrompt(
        request_id=request.request_id,
        prompt_hash=request.prompt_hash,
        verified=rebuilt is not None,
        messages=(("system", shown.system), ("user", shown.user)),
        cut=shown.cut,
    )


def _request(event: ExecutionEvent) -> FileRequested | None:
    match event:
        case FileRequested():
            return event
        case ExecutionCallReissued(again=FileRequested() as again):
            return again
        case _:
            return None


def _prompt(state: ExecutionState, node: str) -> Rendered | None:
    attempt = state.attempt_at(node) if isinstance(state, State) else None
    return None if attempt is None or not isinstance(state, State) else rendered_file(state, attempt)
