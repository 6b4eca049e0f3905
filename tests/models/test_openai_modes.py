"""How structure is asked for, and what happens when a server refuses that."""

import json

import pytest
import trio

from runtime.models.open_models import open_openai
from runtime.models.port import Fault, FaultKind, Reply
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY, fault_of, wired
from tests.support.openai_server import Answer


def refusing(*refused, status=400, words="'response_format.type' {} is not supported"):

    def handle(body, _headers, _n):
        mode = body.get("response_format", {"type": "text"})["type"]
        return Answer.fault(status, words.format(mode)) if mode in refused else Answer.say(TEXT)

    return handle


def modes(server):
    return [seen.body.get("response_format", {"type": "text"})["type"] for seen in server.seen]


@pytest.mark.parametrize("status", [400, 422])
async def test_a_weaker_mode_is_found_and_remembered(status):
    async with wired(refusing("json_schema", status=status)) as (server, model):
        first = await model.complete(request())
        second = await model.complete(request("g_analysis/v1.a2"))
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert first.mode == second.mode == "json_object"
    assert modes(server) == ["json_schema", "json_object", "json_object"]
    assert {seen.request_id for seen in server.seen[:2]} == {"run-1/g_analysis/v1.a1"}


async def test_an_earlier_call_does_not_bring_a_refused_mode_back():

    def handle(body, headers, n):
        slow = "g_analysis" in headers["x-client-request-id"]
        return Answer.say(TEXT).slowly(0.2) if slow else refusing("json_schema")(body, headers, n)

    async with wired(handle) as (server, model):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(model.complete, request("g_analysis/v1.a1"))
            nursery.start_soon(model.complete, request("g_plan/v1.a1"))
        await model.complete(request("g_plan/v1.a2"))
    assert sorted(modes(server)) == ["json_object", "json_object", "json_schema", "json_schema"]


async def test_the_weakest_mode_is_plain_text():
    async with wired(refusing("json_schema", "json_object")) as (server, model):
        assert isinstance(await model.complete(request()), Reply)
        assert isinstance(await model.complete(request("g_analysis/v1.a2")), Reply)
    assert modes(server) == ["json_schema", "json_object", "text", "text"]
    async with wired(refusing("json_schema", "json_object", "text")) as (server, model):
        fault = await model.complete(request())
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.BAD_REQUEST
        assert len(server.seen) == 3
        await model.complete(request("g_analysis/v1.a2"))
    assert modes(server)[3] == "json_schema", "a mode that never worked is not remembered"


async def test_other_refusals_do_not_weaken_the_mode():
    for answer in (Answer.fault(400, "context length exceeded"), Answer.fault(500, "response_format crashed")):
        await fault_of(answer)


async def test_an_openai_address_gets_the_new_limit_name():
    async with open_openai("gpt-5", api_key=KEY) as model:
        body = json.dumps(model._body(request(), "text", stream=True, cache=False))
    assert '"max_completion_tokens": 500' in body
    assert '"max_tokens"' not in body


async def test_a_server_that_refuses_the_options_of_streams_is_asked_without_a_stream():
    def handle(body, _headers, _n):
        refused = "stream_options" in body
        return Answer.fault(422, "stream_options: extra inputs are not permitted") if refused else Answer.say(TEXT)

    async with wired(handle) as (server, model):
        assert isinstance(await model.complete(request()), Reply)
    assert [seen.body.get("stream", False) for seen in server.seen] == [True, False]
