"""The client against a real model: streams, structured replies, cancelled generations, prompts that are too long."""

import json

import pytest
import trio

from runtime.models.context_window import ContextWindow, least_tokens
from runtime.models.open_models import open_openai
from runtime.models.port import FaultKind, ModelRequest, Reply
from tests.long.real.serve_model import NAME
from tests.prompting.test_planning import BOOK

COLOURS = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}


def asked(user, **more):
    """Return a request that gets the same reply each time."""
    values = {"system": "You answer briefly.", "timeout_seconds": 1000.0, "output_tokens_max": 40}
    fields = {"temperature": 0.0, "seed": 7}
    return ModelRequest(request_id="g/v1.a1", purpose="g", user=user, **{**values, "fields": fields, **more})


def opened(real):
    return open_openai(NAME, base_url=real.base_url)


async def test_the_server_lists_the_model_and_says_its_window(real):
    async with opened(real) as model:
        assert NAME in await model.ask_models()
        assert await model.context_window() == ContextWindow(4096, "/props")


async def test_a_reply_is_streamed_and_its_tokens_are_counted(real):
    heard = []
    async with opened(real) as model:
        reply = await model.complete(asked("Name three animals.", heard=lambda count, text: heard.append(count)))
    assert isinstance(reply, Reply), reply
    assert heard == sorted(heard)
    assert heard[-1] == len(reply.text) > 0
    assert reply.usage.output_tokens <= 41
    assert reply.usage.input_tokens >= real.tokens("You answer briefly.Name three animals.")


async def test_the_servers_responses_api_is_read_too(real):
    """It is another implementation than the one that the published types describe."""
    heard = []
    async with open_openai(NAME, base_url=real.base_url, responses=True) as model:
        reply = await model.complete(
            asked("Name three animals.", fields={"temperature": 0.0}, heard=lambda count, text: heard.append(count))
        )
    assert isinstance(reply, Reply), reply
    assert heard == sorted(heard)
    assert heard[-1] == len(reply.text) > 0
    assert reply.usage.output_tokens <= 41
    assert reply.usage.input_tokens >= real.tokens("You answer briefly.Name three animals.")


async def test_fifty_calls_one_after_the_other_are_all_answered(real):
    async with opened(real) as model:
        replies = [await model.complete(asked("Say hi.", output_tokens_max=2)) for _ in range(50)]
    assert {type(reply) for reply in replies} == {Reply}


async def test_a_prompt_that_comes_again_is_read_from_the_cache(real):
    long = "The parser fails on the last line of the file. " * 60
    request = asked(long, output_tokens_max=2)
    async with opened(real) as model:
        first = await model.complete(request)
        await until(real, 0)  # A slot that is still busy would send the prompt to the other one.
        again = await model.complete(request)
    assert again.usage.cache_read_tokens > 0.9 * first.usage.input_tokens


async def test_a_reply_keeps_to_the_schema(real):
    async with opened(real) as model:
        reply = await model.complete(asked("Which colour has grass?", schema=COLOURS))
    assert reply.mode == "json_schema"
    assert json.loads(reply.text)["colour"] in COLOURS["properties"]["colour"]["enum"]


async def test_a_reply_ends_at_its_limit_of_tokens(real):
    async with opened(real) as model:
        reply = await model.complete(asked("Count from 1 to 100.", output_tokens_max=8))
    assert (reply.finish_reason, reply.usage.output_tokens) == ("length", 8)


@pytest.mark.parametrize("how", ["cancelled", "too late"])
async def test_a_call_that_is_given_up_ends_its_generation_on_the_server(real, how):
    request = asked(
        "Write a long story.",
        output_tokens_max=3_000,
        timeout_seconds=2.0 if how == "too late" else 1000.0,
        fields={"temperature": 0.9, "seed": 1, "extra": 1, "ignore_eos": True},
    )
    async with opened(real) as model, trio.open_nursery() as nursery:
        nursery.start_soon(model.complete, request)
        await until(real, 1)
        if how == "cancelled":
            nursery.cancel_scope.cancel()
    await until(real, 0)


async def until(real, slots):
    """Wait until this many slots are generating."""
    with trio.fail_after(300):
        while await trio.to_thread.run_sync(real.working) != slots:  # noqa: ASYNC110 -- another process
            await trio.sleep(0.02)


async def test_a_prompt_that_cannot_fit_is_not_sent_and_one_that_does_not_is_refused_by_the_server(real):
    async with opened(real) as model:
        never = await model.complete(asked("The parser fails on the last line of the file. " * 1_000))
        refused = await model.complete(asked("7 1 3 8 " * 1_500))
    assert (never.kind, never.status) == (FaultKind.PROMPT_TOO_LONG, None)
    assert (refused.kind, refused.status) == (FaultKind.PROMPT_TOO_LONG, 400)


@pytest.mark.parametrize("name", BOOK.entries)
def test_the_shorter_prompts_have_at_most_1200_tokens_and_the_least_number_is_a_lower_bound(real, name):
    for compact in (True, False):
        entry = BOOK.entries[name].shown(compact=compact)
        sections = BOOK.sections
        parts = (entry.role, entry.constraints, sections.data_note, sections.specification, sections.task, entry.task)
        text = "\n\n".join(parts)
        tokens = real.tokens(text)
        assert least_tokens(text) <= tokens
        assert not compact or tokens <= 1_200
