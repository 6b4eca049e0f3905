"""The operations that change something. With an idempotency key, a client may repeat a request.

The id of a started run and the name of a posted message are computed from the key, so a repetition is recognised.
"""

from collections.abc import Callable, Mapping
from typing import Any

from actors.run.kind import PreparedRun
from replan.runs.changes import Changes
from replan.runs.executing import plan_of_run
from replan.runs.kind_interface import KindInterface, KindOrder
from replan.setup.limit_fields import limits_in
from replan_server.service import messages
from replan_server.service.orders import ExecutionOrder, ForkOrder, Order
from replan_server.service.requests import ProgramRequest
from replan_server.service.starting import (
    mark_of,
    prepare_execution,
    prepare_of_kind,
    prepare_planning,
    start_fork,
    start_once,
    start_prepared,
)
from runtime.core.errors import UsageProblem


async def start_run(request: ProgramRequest) -> Mapping[str, Any]:
    """Start a planning run."""
    body = request.body
    order = Order(
        problem=body.problem,
        workflow=body.workflow,
        uploads=body.uploads,
        strict=body.strict,
        model=body.model,
        limits=limits_in(body),
    )
    return await _start(request, lambda: prepare_planning(request.service, order))


async def start_of_kind(interface: KindInterface, request: ProgramRequest) -> Mapping[str, Any]:
    """Start a run of an installed kind."""
    body = request.body
    fields = interface.order.model_construct(**{name: getattr(body, name) for name in interface.order.model_fields})
    order = KindOrder(fields=fields, model=body.model, limits=limits_in(body))
    return await _start(request, lambda: prepare_of_kind(request.service, interface, order))


async def start_execution(request: ProgramRequest) -> Mapping[str, Any]:
    """Start the execution of a proved plan."""
    body = request.body
    plan = await plan_of_run(request.service.reader, body.plan_of)
    order = ExecutionOrder(plan=plan, tools=body.tools, model=body.model, limits=limits_in(body))
    return await _start(request, lambda: prepare_execution(request.service, order))


async def answer(request: ProgramRequest) -> Mapping[str, Any]:
    """Post an answer or a decline. The first answer counts; a different later answer is a conflict."""
    body = request.body
    if (body.answer is None) != body.decline:
        raise UsageProblem("either an answer or a decline is needed, not both", place="answer")
    receipt = await messages.answer_question(request.service, request.question, body.answer, via=request.terms.via)
    return receipt.to_json(request.question)


async def tell(request: ProgramRequest) -> Mapping[str, Any]:
    """Post a note or a requirement."""
    body = request.body
    posted = await messages.tell(request.service, request.who, request.run, body.text, body.kind, key=request.key)
    return {"run_id": request.run, "result": posted.result}


async def edit_plan(request: ProgramRequest) -> Mapping[str, Any]:
    """Give a run an edited plan."""
    body = request.body
    await messages.edit_plan(
        request.service,
        request.run,
        body.plan,
        revision=body.revision,
        edits=body.edits,
        via=request.terms.via,
        dropped=body.dropped,
    )
    return {"run_id": request.run, "result": "accepted"}


async def change_limits(request: ProgramRequest) -> Mapping[str, Any]:
    """Post changed limits within the ceilings. A run that had ended because of its limits is resumed."""
    changes = Changes(limits_in(request.body), strict=request.body.strict)
    posted = await messages.change_limits(request.service, request.who, request.run, changes, key=request.key)
    return {"run_id": request.run, "result": posted.result}


async def fork(request: ProgramRequest) -> Mapping[str, Any]:
    """Start a run from the middle of another run."""
    body, service = request.body, request.service
    order = ForkOrder(
        at=body.at.strip(),
        workflow=body.workflow,
        policy=body.policy,
        given=dict(body.given),
        model=body.model,
        limits=limits_in(body),
    )
    wanted = service.offer.fork_of(order, service.engine.environment)
    mark = mark_of(f"{request.run}\n{body.model_dump_json()}")
    run = await start_fork(service, request.who, request.run, wanted, key=request.key, mark=mark)
    return {"run_id": run, "result": "accepted"}


async def resume(request: ProgramRequest) -> Mapping[str, Any]:
    """Resume a run."""
    await messages.resume(request.service, request.who, request.run)
    return {"run_id": request.run, "result": "accepted"}


async def undo(request: ProgramRequest) -> Mapping[str, Any]:
    """Ask an execution to undo all of its calls."""
    posted = await messages.undo(request.service, request.who, request.run)
    return {"run_id": request.run, "result": posted.result}


async def cancel(request: ProgramRequest) -> Mapping[str, Any]:
    """Cancel a run. A run that is cancelled already stays unchanged."""
    shown_by = request.terms.result.format(run=request.run)
    return {"run_id": request.run, "cancelled": await messages.cancel(request.service, request.run, shown_by=shown_by)}


async def _start(request: ProgramRequest, prepare: Callable[[], PreparedRun]) -> Mapping[str, Any]:
    """Start a run. If the request repeats an idempotency key, return the run that the first request has started."""
    service, who = request.service, request.who
    if request.key:
        mark = mark_of(request.body.model_dump_json())
        run, is_new = await start_once(service, who, request.key, mark, prepare)
    else:
        run, is_new = await start_prepared(service, who, prepare()), True
    return {"run_id": run, "result": "accepted" if is_new else "duplicate"}
