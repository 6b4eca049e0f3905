"""Starts runs for clients.

For each client, the settings limit how many runs are under way at once, and how many runs start in a day. A request
that repeats an idempotency key starts no second run.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

from actors.run.kind import PreparedRun
from replan.runs.engine import Engine
from replan.runs.executing import EXECUTION
from replan.runs.forks import ForkRequest, fork_run
from replan.runs.kind_interface import KindInterface, KindOrder, OrderContext
from replan.runs.reader import new_run_id
from replan_server.service.access import Principal
from replan_server.service.limits import RequestRefused
from replan_server.service.orders import ExecutionOrder, Order
from replan_server.service.service import Service
from replan_server.service.store import DAY, Start
from runtime.core.errors import RunNotFound

UNDER_WAY = ("running",)
"""The statuses in a run's row with which the run counts as under way."""
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
ID_LETTERS = 16
"""The number of letters in the id of a run that is started with an idempotency key. With so many letters, two keys
practically never lead to the same id.
"""


Begin = Callable[[Engine, str], Awaitable[str]]
"""A function that records the start of a run with the given id, and returns the id."""


def prepare_planning(service: Service, order: Order) -> PreparedRun:
    """Return an ordered planning run, ready to begin. Raises `UsageProblem` if the order cannot be carried out."""
    return service.offer.prepare(order, service.engine.registry, service.engine.environment).request


async def start_prepared(
    service: Service, who: Principal, prepared: PreparedRun, *, run: str = "", mark: str = ""
) -> str:
    """Record the start of a run that a client has ordered. Return the id of the run. `mark` is the hash of the order.

    Raises `RunExists` for an id that is taken, and `RequestRefused` for a client that has started too many runs.
    """
    return await _start(service, who, lambda engine, name: engine.admit(prepared, run=name), run=run, mark=mark)


async def start_fork(service: Service, who: Principal, origin: str, wanted: ForkRequest, *, key: str, mark: str) -> str:
    """Record a fork that a client has ordered. Return the id of the fork.

    `key` is a hashed idempotency key; it is empty if the client sent no key. Raises the errors of
    `replan.runs.forks.fork_run` and `start_prepared`. Raises `RequestRefused` if the key came with another order
    before, or if the run is an execution and clients may execute no plans.
    """
    if (await service.engine.journal.row(origin)).kind == EXECUTION:
        service.check_execute()

    def fork(engine: Engine, name: str) -> Awaitable[str]:
        return fork_run(engine, origin, wanted, engine.environment, name=name)

    if not key:
        return await _start(service, who, fork)
    async with service.repeating:
        earlier = await _earlier_start(service, who, key, mark)
        return earlier or await _start(service, who, fork, run=_run_of_key(key), mark=mark)


async def _start(service: Service, who: Principal, begin: Begin, *, run: str = "", mark: str = "") -> str:
    """Record the start of a run if the limits allow the client one more run."""
    name = run or new_run_id()
    async with service.starting:  # So two simultaneous requests cannot both take the last place.
        await _check_room(service, who)
        await _check_busy(service, who)
        await service.add_start(who, Start(run=name, at=service.now(), order=mark))
        return await begin(replace(service.engine, by=who.client, asks=True), name)


async def start_once(
    service: Service, who: Principal, key: str, mark: str, prepare: Callable[[], PreparedRun]
) -> tuple[str, bool]:
    """Start a run, unless a request with the same idempotency key has started it.

    Return its id, and whether the run is new.

    `key` is the hash of the idempotency key, and `mark` is the hash of the order. Raises `RequestRefused` if the key
    came with another order before, and the errors of `prepare` and `start_prepared`.
    """
    async with service.repeating:  # So that a request and its repetition do not both find that nothing was started.
        first_run = await _earlier_start(service, who, key, mark)
        if first_run is not None:
            return first_run, False
        return await start_prepared(service, who, prepare(), run=_run_of_key(key), mark=mark), True


def prepare_of_kind(
    service: Service, interface: KindInterface, order: KindOrder, *, may_take_long: bool = False
) -> PreparedRun:
    """Return an ordered run of an installed kind, ready to begin.

    Raises `UsageProblem` if the order cannot be carried out.

    If the kind has `may_take_long`, it may read many files, so call this function in a thread.
    """
    engine = service.engine
    return interface.prepare(order, OrderContext(service.offer, engine.registry, engine.environment, may_take_long))


def prepare_execution(service: Service, order: ExecutionOrder) -> PreparedRun:
    """Return an ordered execution, ready to begin. Raises `UsageProblem` if the order cannot be carried out."""
    return service.offer.prepare_execution(order, service.engine.registry, service.engine.environment)


async def go_on(service: Service, who: Principal, run: str) -> bool:
    """Resume a run for a client.

    The run then counts as started by this client. Return False if this server drives no runs, otherwise True. Raises
    `RequestRefused` if the client has too many runs under way.
    """
    async with service.starting:
        if (await service.engine.journal.row(run)).status not in UNDER_WAY:
            await _check_busy(service, who)
            if all(earlier.run != run for earlier in await service.starts_of(who)):
                await service.add_start(who, Start(run=run, at=service.now()))
        return service.go_on(run)


async def _earlier_start(service: Service, who: Principal, key: str, mark: str) -> str | None:
    run = _run_of_key(key)
    for start in await service.starts_of(who):
        if start.run == run and await _exists(service, run):
            if start.order != mark:
                raise RequestRefused("another run was started with this idempotency key; use a new key", "conflict")
            return run
    return None


def _run_of_key(key: str) -> str:
    number, letters = int(key, 16), ""
    for _ in range(ID_LETTERS):
        number, place = divmod(number, len(LETTERS))
        letters += LETTERS[place]
    return letters


def mark_of(order: str) -> str:
    """Return the hash of an order.

    It shows whether a repeated request with the same idempotency key has the same order.
    """
    return hashlib.sha256(order.encode()).hexdigest()


async def _exists(service: Service, run: str) -> bool:
    try:
        await service.engine.journal.row(run)
    except RunNotFound:
        return False  # Its start was refused or cut off after it was noted.
    return True


async def _check_room(service: Service, who: Principal) -> None:
    clients = service.offer.config.clients
    recent = [start for start in await service.starts_of(who) if start.at > service.now() - DAY]
    if len(recent) >= clients.runs_per_day:
        cause = f"this client has started {clients.runs_per_day} runs within 24 hours, the most that are allowed"
        raise RequestRefused(cause, "too_many")


async def _check_busy(service: Service, who: Principal) -> None:
    clients, busy = service.offer.config.clients, 0
    for start in await service.starts_of(who):
        try:
            busy += (await service.engine.journal.row(start.run)).status in UNDER_WAY
        except RunNotFound:
            continue  # It was deleted, or its start failed.
    if busy >= clients.runs_at_once:
        cause = f"this client has {busy} runs under way, the most that are allowed; wait for one to end, or cancel one"
        raise RequestRefused(cause, "too_many")
