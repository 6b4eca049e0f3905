"""The loopback server itself, since other tests rely on it."""

import signal
import subprocess
import sys

import pytest
import trio

from runtime.models.open_models import open_openai
from runtime.models.port import Fault, FaultKind, Reply
from tests.contracts.model import request
from tests.support.openai_server import Answer, as_answer, by_step, request_parts, serve
from tests.support.server_process import ROOT, server_process, wait_until


async def ask(url, *request_ids, seconds=5.0):
    async with open_openai("test-model", base_url=url) as model:
        return [await model.complete(request(request_id, timeout_seconds=seconds)) for request_id in request_ids]


async def test_each_step_gets_its_answers():
    script = {"g_plan": ["one", Answer.fault(500), {"steps": []}], "g_recon": "always", "*": ["other"]}
    with serve(by_step(script)) as server:
        ids = ["g_plan/v1.a1", "g_recon/v1.a1", "g_plan/v1.a2", "g_plan/v1.a2.t2", "g_recon/v2.a1.b1", "g_new/v1.a1"]
        texts = [
            answer.text if isinstance(answer, Reply) else answer.status for answer in await ask(server.base_url, *ids)
        ]
        assert texts == ["one", "always", 500, '{"steps": []}', "always", "other"]
        assert server.steps == ["g_plan", "g_recon", "g_plan", "g_plan", "g_recon", "g_new"]
        [beyond] = await ask(server.base_url, "g_plan/v1.a3")
        assert isinstance(beyond, Fault)
        assert beyond.kind is FaultKind.NOT_FOUND
        assert "no answer 4 for 'g_plan'" in beyond.message


async def test_requests_are_recorded():
    with serve(by_step({"g_plan": "x"})) as server:
        await ask(server.base_url, "g_plan/v2.a3.t4")
        assert server.wait_for(lambda s: s.finished == 1)
        [seen] = server.seen
    assert (seen.n, seen.step, seen.outcome) == (1, "g_plan", "finished")
    assert seen.started <= (seen.ended or 0)
    assert "The parser fails." in seen.prompt
    assert request_parts(seen.request_id) == {
        "run": "run-1",
        "step": "g_plan",
        "visit": "2",
        "attempt": "3",
        "rest": ".t4",
    }


async def test_a_handler_that_raises_is_a_500():
    with serve(lambda *_: 1 / 0) as server:
        [fault] = await ask(server.base_url, "g_plan/v1.a1")
    assert isinstance(fault, Fault)
    assert "ZeroDivisionError" in fault.message


async def test_another_path_is_not_found():
    with serve(lambda *_: Answer.say("x")) as server:
        [fault] = await ask(server.base_url.removesuffix("/v1"), "g_plan/v1.a1")
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.NOT_FOUND


async def test_a_stop_breaks_hanging_requests():
    faults = []

    async def wait(url):
        faults.extend(await ask(url, "g_plan/v1.a1"))

    async with trio.open_nursery() as nursery:
        with serve(lambda *_: Answer.hang()) as server:
            nursery.start_soon(wait, server.base_url)
            assert await trio.to_thread.run_sync(server.wait_for, lambda s: len(s.seen) == 1)
    assert [fault.kind for fault in faults] == [FaultKind.CUT]


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        ("text", Answer.say("text")),
        ({"steps": []}, Answer.say('{"steps": []}')),
        ([1], Answer.say("[1]")),
        ({"reply": {"a": 1}, "delay_seconds": 0.5}, Answer.say('{"a": 1}').slowly(0.5)),
        ({"reply": "x", "finish_reason": "length"}, Answer.say("x", finish_reason="length")),
        ({"status": 429, "headers": {"Retry-After": "1"}}, Answer.fault(429, headers={"Retry-After": "1"})),
        ({"cut": "body"}, Answer.cut_after("body")),
        ({"huge": 5_000_000}, Answer.huge(5_000_000)),
        ({"hang": True}, Answer.hang()),
        ({"html": True}, Answer.html()),
        ({"no_choices": True}, Answer.no_choices()),
    ],
)
def test_every_kind_of_answer_can_be_scripted(item, answer):
    assert as_answer(item) == answer


def test_a_server_process_outlives_a_killed_program(tmp_path):
    """It serves a program that is killed during a request, and the next one; its log has both."""
    script = {"g_slow": [{"hang": True}, "second"], "g_plan": [{"steps": []}]}
    program = """
import trio
from runtime.models.open_models import open_openai
from tests.contracts.model import request
async def main():
    async with open_openai("test-model", base_url="URL") as model:
        await model.complete(request("g_plan/v1.a1"))
        await model.complete(request("g_slow/v1.a1"))
trio.run(main)
"""
    with server_process(tmp_path, script) as server:
        with subprocess.Popen(
            [sys.executable, "-c", program.replace("URL", server.base_url)], cwd=ROOT
        ) as program_process:
            wait_until(lambda: "run-1/g_slow/v1.a1" in server.requested(), "no request")
            program_process.send_signal(signal.SIGKILL)
        [reply] = trio.run(ask, server.base_url, "g_slow/v1.a1")
        assert isinstance(reply, Reply)
        assert reply.text == "second"
        wait_until(lambda: len(server.events()) == 6, "no end of the log")
    assert server.requested() == ["run-1/g_plan/v1.a1", "run-1/g_slow/v1.a1", "run-1/g_slow/v1.a1"]
    assert server.finished() == ["run-1/g_plan/v1.a1", "run-1/g_slow/v1.a1"]
    assert [event["outcome"] for event in server.events() if event["event"] == "answer"] == [
        "finished",
        "gone",
        "finished",
    ]
