"""A run's own model and those that its steps name, behind one model."""

from contextlib import asynccontextmanager
from dataclasses import replace

from replan.runs.models import RoutedModel
from runtime.models.port import Reply
from runtime.models.provider_state import Askable
from tests.contracts.model import STEPS, TEXT, ModelContract, request
from tests.models.replayed import replaying
from tests.models.wired import wired
from tests.support.openai_server import Answer


@asynccontextmanager
async def opened(answer):
    own = replaying({}, name="own")
    async with wired(answer) as (server, other):
        yield server, RoutedModel(own, {"other": other})


class TestRouted(ModelContract):
    """The contract, for the run's own model and through the name of another."""

    @asynccontextmanager
    async def open_model(self):
        replies = {f"{step}/v{visit}.a1": Reply(TEXT, None, "own") for step in STEPS for visit in range(1, 21)}
        yield RoutedModel(replaying(replies, name="own"), {})

    @asynccontextmanager
    async def open_failing(self):
        async with opened(Answer.fault(500)) as (_, model):
            yield model


async def test_a_request_goes_to_the_model_that_it_names():
    async with opened(Answer.say(TEXT)) as (server, model):
        reply = await model.complete(replace(request(), model="other"))
        assert isinstance(reply, Reply)
        assert reply.model == "test-model"
        await model.complete(request())
        assert len(server.seen) == 1
        assert model.name == "own"


async def test_the_provider_of_any_of_the_models_can_be_asked():
    async with opened(Answer.say(TEXT)) as (_, model):
        assert isinstance(model.probed_model, Askable)
        assert model.probed_model.name == "test-model"
    own = replaying({}, name="own")
    assert RoutedModel(own, {"more": replaying({}, name="more")}).probed_model is own
