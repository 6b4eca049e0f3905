"""The clients of all providers over a real socket: every way a server can fail, and what is made of it."""

import socket
import time
from email.utils import formatdate

import pytest
import trio

from runtime.models.port import Fault, FaultKind, Reply
from tests.contracts.model import TEXT, request
from tests.support.openai_server import Answer


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FaultKind.BAD_REQUEST),
        (401, FaultKind.AUTH),
        (402, FaultKind.AUTH),
        (403, FaultKind.AUTH),
        (404, FaultKind.NOT_FOUND),
        (408, FaultKind.RATE_LIMITED),
        (409, FaultKind.RATE_LIMITED),
        (413, FaultKind.BAD_REQUEST),
        (422, FaultKind.BAD_REQUEST),
        (425, FaultKind.RATE_LIMITED),
        (429, FaultKind.RATE_LIMITED),
        (500, FaultKind.SERVER_ERROR),
        (502, FaultKind.SERVER_ERROR),
        (503, FaultKind.SERVER_ERROR),
        (529, FaultKind.SERVER_ERROR),
    ],
)
async def test_status_codes_have_kinds(status, kind, fault_of):
    fault = await fault_of(Answer.fault(status, "because\nof this"))
    assert (fault.kind, fault.status) == (kind, status)
    assert fault.message == f"status {status}: because of this"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After-Ms": "250", "Retry-After": "7"}, 0.25),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
    ],
)
async def test_retry_after_is_read(headers, seconds, fault_of):
    assert (await fault_of(Answer.fault(429, headers=headers))).retry_after == seconds


async def test_retry_after_as_a_date_is_relative_to_the_servers_clock(fault_of):
    soon = formatdate(time.time() + 3600, usegmt=True)
    wait = (await fault_of(Answer.fault(503, headers={"Retry-After": soon}))).retry_after
    assert wait is not None
    assert 3000 < wait <= 3600, "this machine's clock, which stands in 2023, was not used"
    past = (await fault_of(Answer.fault(503, headers={"Retry-After": formatdate(0, usegmt=True)}))).retry_after
    assert past == 0.0


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirects_are_not_followed(status, fault_of):
    fault = await fault_of(Answer.fault(status, headers={"Location": "/v1/elsewhere"}))
    assert (fault.kind, fault.status) == (FaultKind.NOT_FOUND, status)
    assert "base URL" in fault.message


@pytest.mark.parametrize(
    "answer",
    [
        Answer.no_choices(),
        Answer(body=b""),
        Answer(body=b"\xff\xfe{"),
        Answer(body=b'{"choices": [{"message"'),
        Answer.json({"choices": [{"message": {"content": 7}}]}),
        Answer.json([1, 2]),
        Answer.json(None),
        Answer.json({"choices": [{"message": {"content": None}}]}),
        Answer.json({"choices": [{"message": {"content": None, "tool_calls": []}, "finish_reason": "tool_calls"}]}),
        Answer(body=b"[" * 100_000),
    ],
)
async def test_what_is_not_a_completion_is_a_bad_reply(answer, fault_of):
    fault = await fault_of(answer)
    assert (fault.kind, fault.status) == (FaultKind.BAD_REPLY, 200)
    assert not fault.kind.final
    assert not fault.kind.refunded


async def test_a_web_page_at_status_200_costs_nothing_and_is_said_with_the_address_and_its_content_type(
    wired, provider
):
    """No model was asked there. It may be a gateway's on the way, so another try may help."""
    async with wired(Answer.html()) as (server, model):
        fault = await model.complete(request())
        address = server.base_url.removesuffix(provider.version)
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.kind.final, fault.kind.refunded) == (FaultKind.NO_API, False, True)
    assert fault.message == f"{address} answers with a web page (text/html); is this the API's address?"


async def test_an_error_behind_status_200_keeps_its_words(fault_of):
    assert "upstream down" in (await fault_of(Answer.json({"error": {"message": "upstream down"}}))).message


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_an_empty_reply_that_was_paid_for_is_a_reply(reason, wired):
    async with wired(Answer.say(None, finish_reason=reason)) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == ("", reason)


async def test_a_refusal_is_the_reply(wired):
    async with wired(Answer.say(None, refusal="I will not.")) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.text == "I will not."


async def test_a_refused_connection(provider):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        async with provider.open("test-model", base_url=url) as model:
            fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.kind.refunded, fault.kind.final) == (FaultKind.REFUSED_CONNECTION, True, False)


async def test_an_unresolvable_host(provider):
    async with provider.open("test-model", base_url="https://replan.invalid/v1") as model:
        fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.UNRESOLVED_HOST
    assert fault.kind.final


@pytest.mark.parametrize("where", ["request", "headers", "body"])
async def test_a_cut_connection(where, fault_of):
    fault = await fault_of(Answer.cut_after(where))
    assert (fault.kind, fault.kind.refunded) == (FaultKind.CUT, False)


async def test_a_hanging_server_is_left(wired):
    async with wired(Answer.hang()) as (server, model):
        fault = await model.complete(request(timeout_seconds=0.5))
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TIMEOUT
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: [seen.outcome for seen in s.seen] == ["gone"])


async def test_twenty_megabytes_are_not_read(wired):
    async with wired(Answer.huge(20_000_000)) as (server, model):
        fault = await model.complete(request())
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.seen[0].outcome == "gone")
        # The kernel's buffers on both sides take some megabytes more than the client reads.
        assert server.seen[0].sent < 16_000_000


async def test_the_cap_is_exact(wired):
    async with wired(Answer.say(TEXT)) as (server, model):
        assert isinstance(await model.complete(request()), Reply)
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.seen[0].outcome == "finished")
        size = server.seen[0].sent
    async with wired(Answer.say(TEXT), reply_bytes_max=size) as (_, model):
        assert isinstance(await model.complete(request()), Reply)
    async with wired(Answer.say(TEXT), reply_bytes_max=size - 1) as (_, model):
        fault = await model.complete(request())
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE


async def test_the_cap_holds_for_errors_too(wired):
    async with wired(Answer(status=500, body=b"x" * 5_000), reply_bytes_max=1_000) as (_, model):
        fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.status) == (FaultKind.TOO_LARGE, 500)


@pytest.mark.parametrize("status", [200, 400])
async def test_an_answer_in_tiny_pieces_is_not_read_to_its_end(status, fault_of):
    pieces, headers = (b"a",) * 25_000, {"Content-Type": "application/json"}
    fault = await fault_of(Answer(kind="stream", status=status, headers=headers, pieces=pieces))
    assert (fault.kind, fault.status) == (FaultKind.TOO_LARGE, status)


async def test_a_compressed_answer_is_refused(fault_of):
    fault = await fault_of(Answer(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}))
    assert fault.kind is FaultKind.BAD_REPLY
