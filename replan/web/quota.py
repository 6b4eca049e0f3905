"""Starting runs for clients: as many at once and in a day as the settings allow."""

from functools import partial

from starlette.exceptions import HTTPException

from replan.runs.orders import Order
from replan.runs.run_ids import new_run_id
from replan.web.access import Principal
from replan.web.site import Site
from replan.web.store import Start, WebState
from runtime.core.errors import RunNotFound

DAY = 86_400.0
UNDER_WAY = ("running",)
"""The statuses in rows of runs that count as under way."""


async def start(site: Site, who: Principal, order: Order, *, run: str = "", mark: str = "") -> str:
    """Record the start of a run that a client has ordered; return its id. `mark` is the hash of the order.

    Raises `UsageProblem` for an order that cannot be carried out, `RunExists` for an id that is taken, and
    `HTTPException` (429) for a client that has started too many.
    """
    prepared = site.offer.prepare(order, site.engine.registry, site.engine.environment)
    name = run or new_run_id()
    async with site.starting:  # So that two requests at a time do not both find room for one.
        await _check_room(site, who)
        await site.change(partial(_noted, client=who.client, start=Start(run=name, at=site.now(), order=mark)))
        return await site.engine.admit(prepared.request, run=name)


async def _check_room(site: Site, who: Principal) -> None:
    clients, busy = site.offer.config.clients, 0
    recent = [each for each in site.store.read().starts.get(who.client, ()) if each.at > site.now() - DAY]
    if len(recent) >= clients.runs_per_day:
        raise HTTPException(429, f"{clients.runs_per_day} runs were started within 24 hours, the most of one client")
    for each in site.store.read().starts.get(who.client, ()):
        try:
            busy += (await site.engine.journal.row(each.run)).summary.status in UNDER_WAY
        except RunNotFound:
            continue  # It was deleted, or its start failed.
    if busy >= clients.runs_at_once:
        raise HTTPException(429, f"{busy} runs are under way, the most of one client at once; wait for one, or end one")


def _noted(state: WebState, *, client: str, start: Start) -> tuple[WebState, None]:
    known = state.starts.get(client, ())
    kept = tuple([each for each in known if each.at > start.at - 30 * DAY][-1000:])
    return state.model_copy(update={"starts": {**state.starts, client: (*kept, start)}}), None
