"""The API key stays here, wherever and however a server echoes it; and a reply that cannot be stored is a reply."""

import base64
import json
import time
from functools import partial

import pytest
import trio

from runtime.models.faults import MESSAGE_MAX, provider_text, without_key
from runtime.models.open_models import open_openai
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.replies import ReplyCode, Unreadable, read_reply
from tests.contracts.model import request
from tests.models.whole import read_completion

KEY = "sk-secret-0123456789abcdef"
PART = KEY[4:18]


async def answered(raw, opening=open_openai):

    async def answer(stream):
        await stream.receive_some(65536)
        await stream.send_all(raw)
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, answer, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        async with opening("m", api_key=KEY, base_url=f"http://127.0.0.1:{port}/v1") as model:
            result = await model.complete(request())
        nursery.cancel_scope.cancel()
    return result


def body(content="{}", **more):
    choice = {"message": {"content": content}, "finish_reason": more.pop("finish_reason", "stop")}
    return json.dumps({"choices": [choice], "model": "m", **more}).encode()


def message(text="{}", **more):
    said = {"content": [{"type": "text", "text": text}], "model": "m", "stop_reason": "end_turn"}
    return json.dumps({**said, **more}).encode()


def http(payload, status="200 OK"):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(payload)}\r\n\r\n".encode() + payload


ENCODED = base64.b64encode(f"Bearer {KEY}".encode())


@pytest.mark.parametrize(
    "raw",
    [
        f"HTTP/1.1 {KEY} OK\r\n\r\n".encode(),
        f"{KEY[:-1]}\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\n{KEY} : x\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\nContent-Length: {KEY}\r\n\r\n".encode(),
        f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{KEY}\r\n".encode(),
        f"HTTP/1.1 200 {KEY}\r\nContent-Length: 0\r\n\r\n".encode(),
        http(KEY.encode()),
        http(ENCODED, "400 Bad"),
        http(KEY[:-1].encode(), "400 Bad"),
        http(KEY.encode().hex().encode(), "500 Bad"),
        http(body(f"the header was {KEY}")),
        http(body("x" + PART + "y")),
        http(body(model=KEY)),
        http(body(model=PART)),
        http(body(finish_reason=KEY)),
        http(body(ENCODED.decode())),
        http(message(f"the header was {KEY}")),
        http(message("x" + PART + "y")),
        http(message(model=KEY)),
        http(message(stop_reason=KEY)),
        http(message(ENCODED.decode())),
        http(message(content=[{"type": "tool_use", "input": {KEY: [ENCODED.decode()]}}])),
        http(
            b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "' + ENCODED + b'"}}\n\n'
        ),
        b"HTTP/1.1 200 OK\r\n" + b"x" * 150_000 + b"\r\n\r\n",
    ],
    ids=range(24),
)
async def test_a_key_that_a_server_echoes_is_in_no_reply_and_no_fault(raw, provider):
    """Records, log lines and lines on stderr are made from the answer, so the test searches the answer."""
    result = await answered(raw, provider.open)
    shown = repr(result)
    for form in (KEY, KEY[:-1], PART, ENCODED.decode()[10:34], KEY.encode().hex()):
        assert form not in shown
    if isinstance(result, Fault):
        assert len(result.message) <= MESSAGE_MAX + 40


def test_a_short_placeholder_key_is_not_removed_from_replies():
    reply = read_completion(body("ask ollama, or test"), secret="ollama")
    assert isinstance(reply, Reply)
    assert reply.text == "ask ollama, or test"


def test_a_reply_without_the_key_is_unchanged():
    text = f"{KEY[:8]} and {KEY[-8:]}"
    assert without_key(text, KEY) == text


@pytest.mark.parametrize("piece", [KEY[:6], KEY[6:12] + "-", KEY[:11] + " ", KEY, "ab"])
def test_a_hostile_text_is_searched_in_little_time(piece):
    text = piece * (4 * 1024 * 1024 // len(piece))
    started = time.process_time()
    assert KEY not in without_key(text, KEY)
    assert time.process_time() - started < 2


def test_other_secrets_in_a_fault_are_removed_by_their_form():
    assert "hunter22" not in provider_text("cannot log in with password=hunter22")


@pytest.mark.parametrize("raw", [rb'"a\ud800b"', b'"a\xed\xa0\x80b"'])
def test_a_lone_surrogate_is_a_reply_that_is_rejected_with_feedback(raw):
    whole = b'{"choices": [{"message": {"content": ' + raw + b'}, "finish_reason": "stop"}], "model": "m"}'
    reply = read_completion(whole)
    assert isinstance(reply, Reply)
    reply.text.encode()
    unreadable = read_reply('{"text": "' + reply.text + '"}')
    assert isinstance(unreadable, Unreadable)
    assert unreadable.code is ReplyCode.BAD_TEXT


def test_a_body_that_is_no_completion_stays_a_fault():
    fault = read_completion(rb'{"error": "\ud800"}')
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.BAD_REPLY
    fault.message.encode()
