"""The tests that every model must pass. A test module subclasses `ModelContract` and says how to open one."""

from contextlib import AbstractAsyncContextManager

import pytest
import trio

from runtime.core.ledger import Usage
from runtime.models.port import Fault, Model, ModelRequest, Reply

STEPS = ("g_analysis", "g_plan")
TEXT = '{"problem_type": "bug_fix"}'


def request(request_id="g_analysis/v1.a1", **more):
    defaults = {
        "purpose": request_id.partition("/")[0],
        "system": "You analyse.",
        "user": "The parser fails.",
        "timeout_seconds": 5.0,
        "output_tokens_max": 500,
        "schema": {"type": "object"},
        "schema_name": "analysis",
        "material": {"specification": "The parser fails."},
        "run": "run-1",
    }
    return ModelRequest(request_id=request_id, **{**defaults, **more})


class ModelContract:
    """The suite. The model under test answers attempt 1 of visits 1 to 20 of each of `STEPS` with `TEXT`."""

    def open_model(self) -> AbstractAsyncContextManager[Model]:
        """Open a model that answers with `TEXT`."""
        raise AssertionError("the test module must open a model")

    def open_failing(self) -> AbstractAsyncContextManager[Model]:
        raise AssertionError("the test module must open a model")

    async def test_a_reply_is_a_value(self):
        async with self.open_model() as model:
            reply = await model.complete(request())
        assert isinstance(reply, Reply)
        assert reply.text == TEXT
        assert reply.model
        assert reply.mode in {"json_schema", "json_object", "tool", "tool_offered", "text"}
        if reply.usage is not None:
            assert isinstance(reply.usage, Usage)
            assert min(reply.usage.input_tokens, reply.usage.output_tokens) >= 0
            assert reply.usage.tokens == reply.usage.input_tokens + reply.usage.output_tokens

    async def test_a_fault_is_a_value_too(self):
        async with self.open_failing() as model:
            fault = await model.complete(request())
        assert isinstance(fault, Fault)
        assert fault.message
        assert "\n" not in fault.message

    async def test_it_has_a_name(self):
        async with self.open_model() as model:
            assert model.name.strip() == model.name != ""

    async def test_a_request_may_have_no_schema(self):
        async with self.open_model() as model:
            reply = await model.complete(request(schema=None, system=""))
        assert isinstance(reply, Reply)
        assert reply.mode == "text"

    async def test_calls_may_overlap(self):
        answers = []

        async def ask(model, request_id):
            answers.append(await model.complete(request(request_id)))

        async with self.open_model() as model, trio.open_nursery() as nursery:
            for step in STEPS:
                for visit in range(1, 21):
                    nursery.start_soon(ask, model, f"{step}/v{visit}.a1")
        assert len(answers) == 40
        assert all(isinstance(answer, Reply) and answer.text == TEXT for answer in answers)

    async def test_every_call_is_a_checkpoint(self):
        async with self.open_model() as model:
            with trio.CancelScope() as scope:
                scope.cancel()
                await model.complete(request())
                pytest.fail("the call went on although it was cancelled")
            assert scope.cancelled_caught

    async def test_a_cancelled_call_leaves_the_model_usable(self):
        async with self.open_model() as model:
            with trio.move_on_after(0):
                await model.complete(request("g_analysis/v1.a1"))
            assert isinstance(await model.complete(request("g_analysis/v2.a1")), Reply)

    async def test_a_model_may_be_closed_twice(self):
        async with self.open_model() as model:
            await model.complete(request())
            await model.aclose()
            await model.aclose()

    async def test_closing_works_while_cancelled(self):
        closed = False
        async with self.open_model() as model:
            await model.complete(request())
            with trio.CancelScope() as scope:
                scope.cancel()
                await model.aclose()
                closed = True
        assert closed
