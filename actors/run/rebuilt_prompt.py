"""A call that a run has made, with the states around it, and its prompt rendered again from them. Pure."""

from collections.abc import Sequence
from typing import Any

from actors.files.suggestions import nearest
from actors.run.calls import CallReissued, CallRequested
from actors.run.ids import child_run
from actors.run.machine import RunMachine
from actors.run.views import Near, SentPrompt
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.machine import fold


def calls_of(records: Sequence[Record[Any]]) -> list[tuple[int, CallRequested]]:
    """Return the requests for calls of models, each with the index of its record."""
    calls = []
    for position, record in enumerate(records):
        event = record.event.again if isinstance(record.event, CallReissued) else record.event
        if isinstance(event, CallRequested):
            calls.append((position, event))
    return calls


def rebuilt_prompt(
    machine: RunMachine[Any, Any], records: Sequence[Record[Any]], name: str, near: Near[Any] | None = None
) -> SentPrompt:
    """Return the messages of a call: of the last try of a node, or of one request, such as `g_plan/v1.a1.t2`.

    `near` gives a state after the first records, from which the run is folded. Raises `UsageProblem` for a call that
    was not made, with the nearest one, and for one that asks no model.
    """
    calls = calls_of(records)
    matches = [(place, call) for place, call in calls if name in (call.call, call.request_id)]
    if not matches:
        hint = nearest(name, [call.request_id for _, call in calls], kind="calls") or "no model was asked"
        raise UsageProblem(f"no call {name!r} in this run", place="--prompt", hint=hint)
    place, request = matches[-1]
    begin, before = (0, machine.initial()) if near is None else near(place)
    before = fold(machine, (record.event for record in records[begin:place]), before)
    after = machine.evolve(before, records[place].event)
    # What a request asks is rendered before it is recorded; a message that the same transaction took is in the second.
    texts = [prompt.text for state in (before, after) if (prompt := machine.prompt(state, request)) is not None]
    if not texts:
        if machine.is_child(after, request):
            cause = f"the call {request.request_id!r} is answered by a run of its own, which asks models"
            hint = f"name a call of the run {child_run(records[0].run, request.node)}"
            raise UsageProblem(cause, place="--prompt", hint=hint)
        cause = f"the step {request.step!r} asks no model"
        raise UsageProblem(cause, place="--prompt", hint="name another step's node")
    rebuilt = next((text for text in texts if text.ref == request.prompt_hash), None)
    best = rebuilt or texts[0]
    messages = (("system", best.system), ("user", best.user))
    return SentPrompt(
        request_id=request.request_id,
        prompt_hash=request.prompt_hash,
        verified=rebuilt is not None,
        messages=tuple((role, text) for role, text in messages if text),
        cut=best.cut,
    )
