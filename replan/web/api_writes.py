"""The operations that change something. Each takes an idempotency key, so that a client may repeat a request.

What a key stands for is durable: the id of a started run and the name of a posted message follow from it.
"""

import hashlib
import re

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from replan.runs import cancelling
from replan.runs.asked import questions_of
from replan.runs.changes import Changes, post_changes
from replan.runs.orders import Order
from replan.views.question_forms import for_people_only
from replan.web import api_bodies as bodies
from replan.web.access import Principal
from replan.web.api_answers import answered
from replan.web.quota import start
from replan.web.site import Site
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.journal.port import Posted

HEADER = "idempotency-key"
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
ID_LETTERS = 16
"""Letters of the id of a run that a program starts: enough that no two keys lead to one id."""

_KEY = re.compile(r"[\x21-\x7e]{1,100}")


def key_of(request: Request, who: Principal) -> str:
    """Return the hash of a request's idempotency key and its client. Raises `UsageProblem` for a missing one."""
    key = request.headers.get(HEADER, "")
    if not _KEY.fullmatch(key):
        hint = "up to 100 printable characters, another one for each thing that is done"
        raise UsageProblem("the header is missing or wrong", place="Idempotency-Key", hint=hint)
    return hashlib.sha256(f"{who.client}\n{request.url.path}\n{key}".encode()).hexdigest()


async def start_run(site: Site, request: Request, who: Principal, body: bodies.StartRun) -> Response:
    """Start a run; a repeated request returns the run that the first one started."""
    key = key_of(request, who)
    run, mark = _run_id(key), hashlib.sha256(body.model_dump_json().encode()).hexdigest()
    async with site.repeating:  # So that a request and its repetition do not both find that nothing was started.
        for known in site.store.read().starts.get(who.client, ()):
            if known.run == run and await _exists(site, run):
                if known.order != mark:
                    raise HTTPException(409, "another run was started with this idempotency key")
                return answered({"run_id": run, "result": "duplicate"})
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
        await start(site, who, order, run=run, mark=mark)
    return answered({"run_id": run, "result": "accepted"}, 201)


async def answer(site: Site, request: Request, who: Principal, body: bodies.Answer) -> Response:
    """Post an answer or a decline; the first one counts, and another one is a conflict."""
    key_of(request, who)
    run, name = request.path_params["run"], request.path_params["name"]
    full = f"{run}/{name}"
    if (body.answer is None) != body.decline:
        raise UsageProblem("either an answer or a decline is needed", place="answer")
    if any(each["id"] == full and for_people_only(each) for each in await questions_of(site.reader, run)):
        raise HTTPException(403, "only a person may answer this: on the web page, or with `replan answer`")
    receipt = await (site.engine.decline(full) if body.answer is None else site.engine.answer(full, body.answer))
    if receipt.result == "conflict":
        raise HTTPException(409, "another answer was given before, and that one counts")
    return answered({"question": full, "result": receipt.result, "answer": receipt.stands})


async def tell(site: Site, request: Request, who: Principal, body: bodies.Message) -> Response:
    """Post a message."""
    run = request.path_params["run"]
    posted = await site.engine.tell(run, body.text, body.kind, key=key_of(request, who)[:32])
    return _receipt(run, posted)


async def change_limits(site: Site, request: Request, who: Principal, body: bodies.Limits) -> Response:
    """Post changed limits, as far as the ceilings allow; a run that had ended because of them goes on."""
    run, changes = request.path_params["run"], Changes(**body.model_dump())
    if not changes:
        raise UsageProblem("no limit is given", place="body")
    site.offer.check_changes(changes)
    posted = await post_changes(site.engine, run, changes, key=key_of(request, who)[:32])
    if (await site.engine.journal.row(run)).summary.status == "finished":
        site.go_on(run)
    return _receipt(run, posted)


async def resume(site: Site, request: Request, who: Principal, body: bodies.Nothing) -> Response:
    """Go on with a run."""
    del body
    key_of(request, who)
    run = request.path_params["run"]
    await site.engine.journal.row(run)
    if not site.go_on(run):
        raise HTTPException(409, "this server drives no runs: it was started with --no-host")
    return answered({"run_id": run, "result": "accepted"})


async def cancel(site: Site, request: Request, who: Principal, body: bodies.Nothing) -> Response:
    """Cancel a run; one that is cancelled already stays so."""
    del body
    key_of(request, who)
    run = request.path_params["run"]
    summary = (await site.engine.journal.row(run)).summary
    if (summary.status, summary.detail) == ("finished", "cancelled"):
        return answered({"run_id": run, "cancelled": True})
    return answered({"run_id": run, "cancelled": await cancelling.cancel_run(site.engine, run)})


async def _exists(site: Site, run: str) -> bool:
    try:
        await site.engine.journal.row(run)
    except RunNotFound:
        return False  # Its start was refused or cut off after it was noted.
    return True


def _receipt(run: str, posted: Posted) -> Response:
    if posted.result == "conflict":
        raise HTTPException(409, "something else was posted with this idempotency key")
    return answered({"run_id": run, "result": posted.result})


def _run_id(key: str) -> str:
    number, letters = int(key, 16), ""
    for _ in range(ID_LETTERS):
        number, place = divmod(number, len(LETTERS))
        letters += LETTERS[place]
    return letters
