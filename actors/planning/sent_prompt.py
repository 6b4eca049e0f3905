"""The messages that a call got, rebuilt from the records of a run and checked by the hash in the request. Pure."""

from collections.abc import Iterable, Sequence
from typing import assert_never

from actors.files.suggestions import nearest
from actors.planning.call_events import ClassificationRequested, GenerationRequested, PlanningCall, RequestReissued
from actors.planning.classifier_prompt import rendered_failure
from actors.planning.events import PlanningEvent
from actors.planning.machine import PlanningMachine
from actors.planning.prompt_context import rendered
from actors.planning.state import PlanningState, State
from actors.prompting.render import Rendered
from actors.run.views import Near, SentPrompt
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.machine import fold

_MACHINE = PlanningMachine()


def sent_prompt(
    records: Sequence[Record[PlanningEvent]], wanted: str, near: Near[PlanningState] | None = None
) -> SentPrompt:
    """Return the messages of a call: of the last try of a node, or of one request such as `g_plan/v1.a1.t2`.

    `near` gives a state after the first records, from which the run is folded. Raises `UsageProblem` for a call that
    was not made, with the nearest one, and for a step that asks no model.
    """
    calls = [(place, call) for place, record in enumerate(records) for call in _requests(record.event)]
    found = [(place, call) for place, call in calls if wanted in (call.call, call.request_id)]
    if not found:
        known = [call.request_id for _, call in calls]
        hint = nearest(wanted, known, kind="calls") or "the run has made no call yet"
        raise UsageProblem(f"no call {wanted!r} in this run", place="--prompt", hint=hint)
    place, request = found[-1]
    begin, state = (0, _MACHINE.initial()) if near is None else near(place)
    before = fold(_MACHINE, (record.event for record in records[begin:place]), state)
    after = _MACHINE.evolve(before, records[place].event)
    assert isinstance(before, State)
    assert isinstance(after, State)
    if isinstance(request, GenerationRequested) and after.config.steps[request.step].prompt is None:
        raise UsageProblem(
            f"the step {request.step!r} asks no model", place="--prompt", hint="name another step's node"
        )
    # What a request asks is rendered before it is recorded; a message that the same transaction took is in the second.
    rebuilt = next((each for each in _rebuilt(request, before, after) if each.ref == request.prompt_hash), None)
    shown = rebuilt or _prompt(request, before)
    messages = (("system", shown.system), ("user", shown.user))
    return SentPrompt(
        request_id=request.request_id,
        prompt_hash=request.prompt_hash,
        verified=rebuilt is not None,
        messages=tuple((role, text) for role, text in messages if text),
        cut=shown.cut,
    )


def _requests(event: PlanningEvent) -> Iterable[PlanningCall]:
    match event:
        case GenerationRequested() | ClassificationRequested():
            yield event
        case RequestReissued():
            yield event.again
        case _:
            pass


def _rebuilt(request: PlanningCall, *states: State) -> Iterable[Rendered]:
    for state in states:
        yield _prompt(request, state)


def _prompt(request: PlanningCall, state: State) -> Rendered:
    branch = state.branch_of(request.node)
    match request:
        case GenerationRequested():
            return rendered(state, branch, request.step)
        case ClassificationRequested():
            return rendered_failure(state, branch, request.node)
        case _:
            assert_never(request)
