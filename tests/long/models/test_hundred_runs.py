"""A hundred runs against a server with a rate limit: real clients, real sockets, the real clock."""

import threading
import time

import trio

from actors.planning.prepare import PlanningInput, RunOptions
from replan.runs.engine import Engine
from replan.runs.prepare import RunOrder, prepare
from replan.setup.settings import UserConfig
from runtime.core.clock import SystemClock
from runtime.models.servers import FIRST_CALLS, MARGIN
from tests.support.answers import Answer
from tests.support.artifacts import GOOD, PROBLEM
from tests.support.openai_server import serve
from tests.wire.test_search import CODEC, open_memory, registry

RUNS, LIMIT, SECONDS = 100, 60, 8.0


class Limited:
    def __init__(self):
        self.lock, self.began, self.used, self.statuses = threading.Lock(), 0.0, 0, []

    def __call__(self, *_):
        with self.lock:
            now = time.monotonic()
            if now >= self.began + SECONDS:
                self.began, self.used = now if not self.statuses else now - (now - self.began) % SECONDS, 0
            admitted = self.used < LIMIT
            self.used += admitted
            self.statuses.append(200 if admitted else 429)
            values = {"limit": LIMIT, "remaining": LIMIT - self.used, "reset": f"{self.began + SECONDS - now:.3f}s"}
        answer = Answer.value(GOOD["g_plan"]) if admitted else Answer.fault(429)
        headers = {f"x-ratelimit-{name}-requests": str(value) for name, value in values.items()}
        return Answer(status=answer.status, body=answer.body, headers={**answer.headers, **headers})


async def test_a_hundred_runs_end_without_a_refusal_after_the_first_ten():
    """Sixty calls fit into a window, so forty runs wait for the next one; none is refused."""
    clock, limited, results = SystemClock(), Limited(), []
    with serve(limited) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-test-key-0000000000"}
        async with open_memory(CODEC, clock) as journal, trio.open_nursery() as nursery:
            engine = Engine(journal, registry=registry(), clock=clock, environment=environment)

            async def run(number):
                order = RunOrder(PlanningInput(PROBLEM, RunOptions(workflow="single")), "test-model")
                request = prepare(
                    order, config=UserConfig(), registry=engine.registry, environment=environment, now=clock.now()
                ).request
                results.append(await engine.begin(request, run=f"run-{number}"))

            began = time.monotonic()
            for number in range(RUNS):
                nursery.start_soon(run, number)
    assert {(result.outcome, result.calls) for result in results} == {("success", 1)}
    assert 429 not in limited.statuses[FIRST_CALLS:]
    assert len(results) == len(limited.statuses) == RUNS
    assert time.monotonic() - began > SECONDS + MARGIN
