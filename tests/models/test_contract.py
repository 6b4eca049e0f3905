"""The models of the runtime, held to the contract of models."""

from contextlib import asynccontextmanager

from runtime.models.open_models import open_anthropic, open_openai
from runtime.models.port import Reply
from runtime.models.scripted import ScriptedModel
from tests.contracts.model import STEPS, TEXT, ModelContract
from tests.models.replayed import replaying
from tests.support.openai_server import Answer, serve


class TestScripted(ModelContract):
    @asynccontextmanager
    async def open_model(self):
        yield ScriptedModel({step: [TEXT] * 20 for step in STEPS})

    @asynccontextmanager
    async def open_failing(self):
        yield ScriptedModel({})


class TestReplay(ModelContract):
    @asynccontextmanager
    async def open_model(self):
        reply = Reply(text=TEXT, usage=None, model="recorded")
        yield replaying({f"{step}/v{visit}.a1": reply for step in STEPS for visit in range(1, 21)})

    @asynccontextmanager
    async def open_failing(self):
        yield replaying({})


class TestOpenAI(ModelContract):
    @asynccontextmanager
    async def open_model(self):
        with serve(lambda *_: Answer.say(TEXT)) as server:
            async with open_openai("test-model", api_key="sk-test", base_url=server.base_url) as model:
                yield model

    @asynccontextmanager
    async def open_failing(self):
        with serve(lambda *_: Answer.fault(503, "two\nlines")) as server:
            async with open_openai("test-model", base_url=server.base_url) as model:
                yield model


class TestResponses(ModelContract):
    """The client of the Responses API against a real server on the loopback, which demands what the API demands."""

    @asynccontextmanager
    async def open_model(self):
        with serve(lambda *_: Answer.say(TEXT)) as server:
            opening = open_openai("test-model", api_key="sk-test", base_url=server.base_url, responses=True)
            async with opening as model:
                yield model

    @asynccontextmanager
    async def open_failing(self):
        with serve(lambda *_: Answer.fault(503, "two\nlines")) as server:
            async with open_openai("test-model", base_url=server.base_url, responses=True) as model:
                yield model


class TestAnthropic(ModelContract):
    """The real client against a real server on the loopback, which demands what the API demands."""

    @asynccontextmanager
    async def open_model(self):
        with serve(lambda *_: Answer.say(TEXT)) as server:
            async with open_anthropic("test-model", api_key="sk-ant-test", base_url=server.base_url) as model:
                yield model

    @asynccontextmanager
    async def open_failing(self):
        with serve(lambda *_: Answer.fault(529, "two\nlines")) as server:
            async with open_anthropic("test-model", base_url=server.base_url) as model:
                yield model
