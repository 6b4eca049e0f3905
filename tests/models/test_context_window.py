"""What servers say about the context window of a model, and prompts that cannot fit: they are not sent."""

import json

import pytest
import trio

from runtime.models.context_window import ContextWindow, ask_window, least_tokens, too_long, window_in_price_list
from runtime.models.open_models import open_openai
from runtime.models.port import FaultKind, Reply
from runtime.models.providers import OPENAI_URL
from tests.contracts.model import TEXT, request
from tests.models.wired import FixedClock, fault_of
from tests.support.openai_server import Answer, serve

LOCAL, REMOTE = "http://127.0.0.1:8080/v1", "https://models.example.com/v1"
LLAMA_CPP = {"GET /props": {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1}}
VLLM = {"GET /v1/models": {"data": [{"id": "other", "max_model_len": 1}, {"id": "test-model", "max_model_len": 8192}]}}
OLLAMA_LOADED = {"GET /api/ps": {"models": [{"name": "test-model", "context_length": 2048}]}}
OLLAMA_SET = {"GET /api/ps": {"models": []}, "POST /api/show": {"parameters": "stop  x\nnum_ctx    16384"}}
OLLAMA = {"GET /api/ps": {"models": []}, "POST /api/show": {"model_info": {"llama.context_length": 131072}}}
LONG = "It fails when the file is read. " * 400


def learned(answers, base_url=LOCAL):
    """Return what is learned from a server with these answers, and what it was asked."""
    asked = []

    async def ask(url, body):
        method, path = "GET" if body is None else "POST", "/" + url.split("/", 3)[3]
        asked.append(f"{method} {path}")
        assert body in (None, {"model": "test-model"})
        return answers.get(f"{method} {path}")

    return trio.run(ask_window, base_url, "test-model", ask), asked


@pytest.mark.parametrize(
    ("answers", "tokens", "source"),
    [
        (LLAMA_CPP, 4096, "/props"),
        (VLLM, 8192, "/models"),
        (OLLAMA_LOADED, 2048, "/api/ps"),
        (OLLAMA_SET, 16384, "/api/show"),
        (OLLAMA, 131072, "/api/show"),
    ],
)
def test_each_kind_of_server_says_its_window(answers, tokens, source):
    assert learned(answers)[0] == ContextWindow(tokens, source)


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"GET /props": {"default_generation_settings": {"n_ctx": 0}}},
        {"GET /props": {"default_generation_settings": {"n_ctx": True}}},
        {"GET /props": {"default_generation_settings": []}},
        {"GET /v1/models": {"data": [None, {"id": "test-model", "max_model_len": "much"}]}},
        {"GET /v1/models": []},
        {"GET /api/ps": {"models": [None, {"name": "test-model"}]}, "POST /api/show": {"parameters": "num_ctx -1"}},
        {"GET /api/ps": {"models": []}, "POST /api/show": {"model_info": {"a.context_length": 10**12}}},
    ],
)
def test_what_is_no_window_is_not_taken_for_one(answers):
    assert learned(answers)[0] is None


def test_a_server_elsewhere_is_asked_for_its_list_of_models_and_nothing_else():
    assert learned(LLAMA_CPP, REMOTE) == (None, ["GET /v1/models"])


def test_the_windows_of_openai_are_those_of_the_price_list_and_nobody_is_asked():
    assert learned({}, OPENAI_URL) == (window_in_price_list("test-model", OPENAI_URL), []) == (None, [])
    assert window_in_price_list("gpt-5-mini", OPENAI_URL).tokens >= 100_000


def test_a_text_has_at_least_as_many_tokens_as_six_bytes_each_and_white_space_has_none():
    assert (least_tokens("abcdef" * 100), least_tokens("   \n" * 1000), least_tokens("ä" * 30)) == (100, 0, 10)


def test_a_prompt_is_too_long_only_where_it_leaves_no_token_for_a_reply():
    asked = request(system="abcdef" * 60, user="abcdef" * 40)
    assert too_long(asked, ContextWindow(101, "here")) is None
    fault = too_long(asked, ContextWindow(100, "/props"))
    assert (fault.kind, fault.kind.final, fault.kind.refunded) == (FaultKind.PROMPT_TOO_LONG, True, True)
    assert fault.message == (
        "the prompt has at least 100 tokens (60 of them in the instructions), "
        "but prompt and reply together may have only 100 (/props)"
    )


def windows_of(*sizes):
    """Return the answers to GET of a llama.cpp server that is started anew with each of these windows."""
    left = list(sizes)

    def answer(headers):
        if headers[":path"] != "/props":
            return Answer.fault(404, "no such path")
        return Answer.json({"default_generation_settings": {"n_ctx": left.pop(0) if len(left) > 1 else left[0]}})

    return answer


async def completed(models, *asked, name="test-model"):
    """Return the answers to some requests of one client, and the server."""
    with serve(lambda *_: Answer.say(TEXT), models=models) as server:
        async with open_openai(name, api_key="k", base_url=server.base_url, clock=FixedClock()) as model:
            return [await model.complete(each) for each in asked], server


async def test_a_prompt_that_cannot_fit_is_not_sent():
    [fault], server = await completed(windows_of(512), request(user=LONG))
    assert (fault.kind, server.seen) == (FaultKind.PROMPT_TOO_LONG, [])
    assert "together may have only 512 (/props)" in fault.message


async def test_a_prompt_that_may_fit_is_sent_and_the_server_is_asked_once():
    replies, server = await completed(windows_of(4096), *[request(user=LONG)] * 3)
    assert [type(each) for each in replies] == [Reply] * 3
    assert server.probes == 2, "the list of models, which has no window, and /props"


async def test_a_server_that_came_back_with_a_larger_window_gets_the_prompt():
    answers, server = await completed(windows_of(512, 512, 8192), *[request(user=LONG)] * 3)
    assert [type(each).__name__ for each in answers] == ["Fault", "Fault", "Reply"]
    assert len(server.seen) == 1


async def test_a_short_prompt_asks_nobody():
    replies, server = await completed(windows_of(10), request())
    assert (type(replies[0]), server.probes) == (Reply, 0)


async def test_a_window_that_a_person_has_set_counts_and_nobody_is_asked():
    answers, server = await completed(
        windows_of(10), request(user=LONG, context_window=100_000), request(context_window=1)
    )
    assert (type(answers[0]), answers[1].kind, server.probes) == (Reply, FaultKind.PROMPT_TOO_LONG, 0)


async def test_a_server_that_does_not_answer_delays_a_call_by_two_seconds_at_most(autojump_clock):
    async def ask(url, body):
        await trio.sleep_forever()

    assert await ask_window(LOCAL, "test-model", ask) is None
    assert trio.current_time() == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": "context_length_exceeded", "message": "This model's maximum context length is 8192"}},
        {"error": {"code": 400, "type": "exceed_context_size_error", "message": "the request exceeds", "n_ctx": 512}},
    ],
)
async def test_a_servers_own_refusal_of_a_long_prompt_is_the_same_fault(body):
    fault = await fault_of(Answer(status=400, body=json.dumps(body).encode()))
    assert (fault.kind, fault.status) == (FaultKind.PROMPT_TOO_LONG, 400)
