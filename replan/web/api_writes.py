"""The operations that change something. Each takes an idempotency key, so that a client may repeat a request.

What a key stands for is durable: the id of a started run and the name of a posted message follow from it.
"""

from starlette.requests import Request
from starlette.responses import Response

from actors.run.via import Via
from replan.runs.changes import Changes
from replan.runs.orders import Order
from replan.service import bodies, messages
from replan.service.access import Principal
from replan.service.starting import known_start, mark_of, planned, run_of_key, start_prepared
from replan.web.api_answers import answered
from replan.web.site import Site
from runtime.core.errors import UsageProblem

HEADER = "Idempotency-Key"


def key_of(request: Request, who: Principal) -> str:
    """Return the hash of a request's idempotency key and its client. Raises `UsageProblem` for a missing one."""
    return messages.hashed_key(request.headers.get(HEADER, ""), who, request.url.path, place=HEADER)


async def start_run(site: Site, request: Request, who: Principal, body: bodies.StartRun) -> Response:
    """Start a run; a repeated request returns the run that the first one started."""
    key = key_of(request, who)
    mark = mark_of(body.model_dump_json())
    async with site.repeating:  # So that a request and its repetition do not both find that nothing was started.
        known = await known_start(site, who, key, mark)
        if known is not None:
            return answered({"run_id": known, "result": "duplicate"})
        order = Order(
            problem=body.problem,
            workflow=body.workflow,
            model=body.model,
            max_calls=body.max_calls,
            max_tokens=body.max_tokens,
            max_cost_usd=body.max_cost_usd,
            active_seconds=body.active_seconds,
            deadline_seconds=body.deadline_seconds,
            uploads=tuple([(each.name, each.content) for each in body.attachments]),
        )
        run = await start_prepared(site, who, planned(site, order), run=run_of_key(key), mark=mark)
    return answered({"run_id": run, "result": "accepted"}, 201)


async def answer(site: Site, request: Request, who: Principal, body: bodies.Answer) -> Response:
    """Post an answer or a decline; the first one counts, and another one is a conflict."""
    key_of(request, who)
    full = f"{request.path_params['run']}/{request.path_params['name']}"
    if (body.answer is None) != body.decline:
        raise UsageProblem("either an answer or a decline is needed", place="answer")
    receipt = await messages.answer_question(site, full, body.answer, Via.API)
    return answered({"question": full, "result": receipt.result, "answer": receipt.stands})


async def tell(site: Site, request: Request, who: Principal, body: bodies.Message) -> Response:
    """Post a message."""
    run = request.path_params["run"]
    posted = await messages.tell(site, run, body.text, body.kind, key=key_of(request, who))
    return answered({"run_id": run, "result": posted.result})


async def change_limits(site: Site, request: Request, who: Principal, body: bodies.Limits) -> Response:
    """Post changed limits, as far as the ceilings allow; a run that had ended because of them goes on."""
    run, changes = request.path_params["run"], Changes(**body.model_dump())
    posted = await messages.change_limits(site, run, changes, key=key_of(request, who))
    return answered({"run_id": run, "result": posted.result})


async def resume(site: Site, request: Request, who: Principal, body: bodies.Nothing) -> Response:
    """Go on with a run."""
    del body
    key_of(request, who)
    run = request.path_params["run"]
    await messages.resume(site, run)
    return answered({"run_id": run, "result": "accepted"})


async def cancel(site: Site, request: Request, who: Principal, body: bodies.Nothing) -> Response:
    """Cancel a run; one that is cancelled already stays so."""
    del body
    key_of(request, who)
    run = request.path_params["run"]
    return answered({"run_id": run, "cancelled": await messages.cancel(site, run)})
