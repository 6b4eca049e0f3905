"""The operations that change something. Each takes an idempotency key, so that a client may repeat a request.

What a key stands for is durable: the id of a started run and the name of a posted message follow from it.
"""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

from actors.run.kind import PreparedRun
from replan.runs.changes import Changes
from replan.runs.execution_plans import plan_of_run
from replan.runs.orders import AcquisitionOrder, ExecutionOrder, Order
from replan.service import bodies, messages
from replan.service.access import Principal
from replan.service.starting import (
    acquired,
    executed,
    mark_of,
    planned,
    start_once,
)
from replan.setup.limit_fields import limits_in
from replan.web.api_answers import answered
from replan.web.site import Site
from runtime.core.errors import UsageProblem

HEADER = "Idempotency-Key"


def key_of(request: Request, who: Principal) -> str:
    """Return the hash of a request's idempotency key and its client. Raises `UsageProblem` for a missing one."""
    return messages.hashed_key(request.headers.get(HEADER, ""), who, request.url.path, place=HEADER)


async def start_run(site: Site, request: Request, who: Principal, body: bodies.StartRun) -> Response:
    """Start a planning run."""
    files = tuple([(each.name, each.content) for each in body.attachments])
    order = Order(
        problem=body.problem,
        workflow=body.workflow,
        uploads=files,
        strict=body.strict,
        model=body.model,
        limits=limits_in(body),
    )
    return await _started(site, request, who, body, lambda: planned(site, order))


async def start_acquisition(site: Site, request: Request, who: Principal, body: bodies.StartAcquisition) -> Response:
    """Start an acquisition."""
    order = AcquisitionOrder(
        profile=body.profile,
        goal=body.goal,
        documents=body.documents,
        given=body.given,
        model=body.model,
        limits=limits_in(body),
    )
    return await _started(site, request, who, body, lambda: acquired(site, order))


async def start_execution(site: Site, request: Request, who: Principal, body: bodies.StartExecution) -> Response:
    """Start the execution of a proved plan, where the server allows that."""
    site.check_execute()
    plan = await plan_of_run(site.reader, body.plan_of)
    order = ExecutionOrder(plan=plan, tools=body.tools, model=body.model, limits=limits_in(body))
    return await _started(site, request, who, body, lambda: executed(site, order))


async def _started(
    site: Site, request: Request, who: Principal, body: bodies.Sent, prepare: Callable[[], PreparedRun]
) -> Response:
    """Start a run; a repeated request returns the run that the first one started."""
    run, is_new = await start_once(site, who, key_of(request, who), mark_of(body.model_dump_json()), prepare)
    return answered({"run_id": run, "result": "accepted" if is_new else "duplicate"}, 201 if is_new else 200)


async def answer(site: Site, request: Request, who: Principal, body: bodies.Answer) -> Response:
    """Post an answer or a decline; the first one counts, and another one is a conflict."""
    key_of(request, who)
    full = f"{request.path_params['run']}/{request.path_params['name']}"
    if (body.answer is None) != body.decline:
        raise UsageProblem("either an answer or a decline is needed", place="answer")
    receipt = await messages.answer_question(site, full, body.answer, via="api")
    return answered(receipt.to_json(full))


async def tell(site: Site, request: Request, who: Principal, body: bodies.Message) -> Response:
    """Post a message."""
    run = request.path_params["run"]
    posted = await messages.tell(site, who, run, body.text, body.kind, key=key_of(request, who))
    return answered({"run_id": run, "result": posted.result})


async def change_limits(site: Site, request: Request, who: Principal, body: bodies.ChangedLimits) -> Response:
    """Post changed limits, as far as the ceilings allow; a run that had ended because of them goes on."""
    run, changes = request.path_params["run"], Changes(limits_in(body), strict=body.strict)
    posted = await messages.change_limits(site, who, run, changes, key=key_of(request, who))
    return answered({"run_id": run, "result": posted.result})


async def resume(site: Site, request: Request, who: Principal, body: bodies.Nothing) -> Response:
    """Go on with a run."""
    del body
    key_of(request, who)
    run = request.path_params["run"]
    await messages.resume(site, who, run)
    return answered({"run_id": run, "result": "accepted"})


async def cancel(site: Site, request: Request, who: Principal, body: bodies.Nothing) -> Response:
    """Cancel a run; one that is cancelled already stays so."""
    del body
    key_of(request, who)
    run = request.path_params["run"]
    return answered({"run_id": run, "cancelled": await messages.cancel(site, run, shown_by=f"`GET /api/runs/{run}`")})
