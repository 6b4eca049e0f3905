"""What the clients of all providers take care of: secrets, logs, proxies, cancellation and open sockets."""

import gc
import logging

import pytest
import trio

from runtime.core.errors import UsageProblem
from runtime.models.port import Fault, FaultKind, Reply
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY
from tests.support.openai_server import Answer, by_step, serve


async def test_secrets_are_taken_out_of_errors(fault_of):
    assert "[key]" in (await fault_of(Answer.fault(401, f"{KEY} is wrong"))).message


async def test_a_prompt_that_is_no_text_is_a_fault(wired):
    async with wired(Answer.say(TEXT)) as (server, model):
        fault = await model.complete(request(user="\ud800"))
        assert server.seen == []
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.BAD_REQUEST


async def test_an_id_that_is_no_header_is_a_fault(wired):
    async with wired(Answer.say(TEXT)) as (server, model):
        fault = await model.complete(request(run="run-1\r\nX-Evil: 1"))
        assert server.seen == []
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.BAD_REQUEST


async def test_a_dead_proxy_is_a_refused_connection(monkeypatch, provider):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    async with provider.open("test-model", base_url="https://replan.invalid/v1") as model:
        fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.REFUSED_CONNECTION


async def test_nothing_of_a_prompt_or_key_is_logged(caplog, wired):
    with caplog.at_level(logging.DEBUG):
        async with wired(Answer.say("the reply text")) as (_, model):
            await model.complete(request(user="the prompt text", system="the system text"))
    logged = "\n".join(record.getMessage() for record in caplog.records)
    for word in (KEY, "the prompt text", "the system text", "the reply text"):
        assert word not in logged


async def test_cancellation_in_flight(wired):

    def handle(_body, headers, _n):
        return Answer.say(TEXT) if headers["x-client-request-id"].endswith("v2.a1") else Answer.hang()

    async with wired(handle) as (server, model):
        async with trio.open_nursery() as nursery:
            for branch in range(50):
                nursery.start_soon(model.complete, request(f"g_analysis/v1.a1.b{branch}"))
            assert await trio.to_thread.run_sync(server.wait_for, lambda s: len(s.seen) == 50)
            nursery.cancel_scope.cancel()
        everyone = await trio.to_thread.run_sync(
            server.wait_for, lambda s: all(seen.outcome == "gone" for seen in s.seen)
        )
        assert everyone
        assert isinstance(await model.complete(request("g_analysis/v2.a1")), Reply)
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.connections == 0)


async def test_no_socket_is_left(provider):
    answers = {
        "g_good": Answer.say(TEXT),
        "g_bad": Answer.fault(500),
        "g_cut": Answer.cut_after("body"),
        "g_huge": Answer.huge(6_000_000),
        "g_page": Answer.html(),
        "g_hang": Answer.hang(),
    }
    with serve(by_step(answers)) as server:
        async with provider.open("test-model", base_url=server.base_url) as model:
            for step in answers:
                await model.complete(request(f"{step}/v1.a1", timeout_seconds=0.5))
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.connections == 0)
    del model
    gc.collect()  # an unclosed socket warns here, and warnings are errors


@pytest.mark.parametrize("key", ["sk-with space", "sk-\u2019quoted", "sk-line\nbreak"])
async def test_a_key_that_cannot_be_one_is_a_usage_problem(key, provider):
    """It is told without being shown."""
    with pytest.raises(UsageProblem, match=f"{provider.variables}_API_KEY") as told:
        async with provider.open("test-model", api_key=key, base_url="http://localhost:1/v1"):
            pytest.fail("opened")
    assert key not in str(told.value)


async def test_proxies_of_the_environment_are_not_for_this_machine(monkeypatch, wired, provider):
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("HTTPS_PROXY", "ftp://proxy:1")
    async with wired(Answer.say(TEXT)) as (_, model):
        assert isinstance(await model.complete(request()), Reply)
    with pytest.raises(UsageProblem, match="HTTPS_PROXY"):
        async with provider.open("test-model", base_url="https://replan.invalid/v1"):
            pytest.fail("opened")
