"""Runs with a model whose context window is too small: no call is made, and nothing is charged."""

from actors.run.calls import CallFailed
from tests.support.openai_server import Answer
from tests.wire.test_search import of_kind, run_against, scripted

SMALL = {"context_window": 400}


async def test_a_run_whose_prompts_cannot_fit_parks_before_the_first_call():
    async with run_against(scripted(), limits={"model_settings": SMALL}) as (result, server, events):
        assert (result.status, result.calls, server.seen) == ("parked", 0, [])
        failed = of_kind(events, CallFailed)
        assert {each.fault.kind.value for each in failed} == {"prompt_too_long"}
        assert "but prompt and reply together may have only 400 (context_window)" in result.why


async def test_a_server_that_says_nothing_of_its_window_is_simply_asked():
    async with run_against(scripted()) as (result, _, __):
        assert result.succeeded


async def test_a_prompt_that_the_server_refuses_as_too_long_is_asked_once_and_costs_nothing():
    refusal = Answer.fault(400, "too long", code="context_length_exceeded")
    async with run_against(scripted(g_analysis=[refusal], g_recon=[refusal])) as (result, server, _):
        assert (result.status, result.calls) == ("parked", 0)
        assert sorted(server.steps) == ["g_analysis", "g_recon"]
