"""A call that is given up ends on the server: its connection is closed, so that a slot is free again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from actors.planning.kind import CODEC
from replan.runs.engine import Engine
from replan.setup.plugins import registry
from runtime.core.clock import SystemClock
from runtime.journal.memory import open_memory
from tests.support.answers import Answer, Handler, by_step
from tests.support.openai_server import OpenAIServer, serve
from tests.wire.outages import request

STREAM = Answer.stream("thinking", finish_reason=None, usage=None, done=False, then="hang")


def unstreamed(body: dict[str, Any], _headers: Any, _n: int) -> Answer:
    """Refuse to stream, then never answer."""
    return Answer.fault(400, "stream is not supported") if body.get("stream") else Answer.hang()


HANDLERS: dict[str, Handler] = {
    "before its first word": by_step({"*": Answer.hang()}),
    "in the middle of its stream": by_step({"*": STREAM}),
    "of a server that does not stream": unstreamed,
}


@asynccontextmanager
async def home(url: str) -> AsyncIterator[Engine]:
    clock, environment = SystemClock(), {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-right-000000000000"}
    async with open_memory(CODEC, clock) as journal:
        yield Engine(journal, registry=registry(), clock=clock, environment=environment)


async def begin(engine: Engine) -> None:
    await engine.begin(request(engine), run="run-1")


def working(server: OpenAIServer) -> int:
    return sum(seen.outcome == "open" for seen in server.seen)


async def begun(server: OpenAIServer, *, streamed: bool) -> None:
    """Wait until the server works on the two first calls of the run; a stream that it refuses at once is none."""

    def has_begun(it: OpenAIServer) -> bool:
        return sum(seen.outcome == "open" and bool(seen.body.get("stream")) is streamed for seen in it.seen) == 2

    assert await trio.to_thread.run_sync(server.wait_for, has_begun)


async def ended(server: OpenAIServer) -> None:
    assert await trio.to_thread.run_sync(server.wait_for, lambda it: working(it) == 0)


@pytest.mark.parametrize("when", HANDLERS)
async def test_cancelling_a_run_ends_its_generations(when: str) -> None:
    with serve(HANDLERS[when]) as server:
        async with home(server.base_url) as engine, trio.open_nursery() as nursery:
            nursery.start_soon(begin, engine)
            await begun(server, streamed=HANDLERS[when] is not unstreamed)
            await engine.cancel("run-1")
            await ended(server)
    assert sum(seen.outcome == "gone" for seen in server.seen) == 2


@pytest.mark.parametrize("when", HANDLERS)
async def test_a_driver_that_is_stopped_ends_its_generations(when: str) -> None:
    with serve(HANDLERS[when]) as server:
        async with home(server.base_url) as engine, trio.open_nursery() as nursery:
            nursery.start_soon(begin, engine)
            await begun(server, streamed=HANDLERS[when] is not unstreamed)
            nursery.cancel_scope.cancel()
        await ended(server)
    assert sum(seen.outcome == "gone" for seen in server.seen) == 2
