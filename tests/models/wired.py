"""The models of providers, each with the loopback server that it talks to, for the tests of the wire."""

from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from replan.setup.installation import data_root
from replan.setup.provider_table import read_refusals
from runtime.models.open_models import open_anthropic, open_openai
from runtime.models.port import Fault
from runtime.models.servers import Servers
from tests.contracts.model import request
from tests.support.openai_server import Answer, serve

KEY = "sk-secret-0123456789"
NOW = 1_700_000_000.0


class FixedClock:
    def now(self):
        return NOW

    async def sleep_until(self, when):
        raise AssertionError(when)


def servers(path=None):
    return Servers(path, refusals=read_refusals(data_root()))


@contextmanager
def kept_connections():
    """Treat the loopback server as one elsewhere, whose connections serve several requests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runtime.models.http_client.is_local", lambda _: False)
        yield


@dataclass(frozen=True)
class Provider:
    """A client, and what differs between the clients in what one suite looks at."""

    name: str
    open: Callable
    """Opens a model, with the arguments of `open_openai`."""
    mode: str
    """How structure is asked for at first."""
    path: str
    """Where requests go."""
    variables: str
    """What the names of the variables begin with."""
    version: str
    """The end of the server's address that is no part of the client's."""


OPENAI = Provider("openai", open_openai, "json_schema", "/v1/chat/completions", "OPENAI", "")
RESPONSES = Provider("responses", partial(open_openai, responses=True), "json_schema", "/v1/responses", "OPENAI", "")
ANTHROPIC = Provider("anthropic", open_anthropic, "tool", "/v1/messages", "ANTHROPIC", "/v1")


@asynccontextmanager
async def wired(answer, *, provider=OPENAI, **more):
    if isinstance(answer, Answer):
        answer = [answer] * 10
    handler = answer if callable(answer) else lambda _body, _headers, n: answer[n - 1]
    with serve(handler) as server:
        defaults = {"api_key": KEY, "base_url": server.base_url, "clock": FixedClock(), "servers": servers()}
        async with provider.open("test-model", **{**defaults, **more}) as model:
            yield server, model


async def fault_of(answer, *, provider=OPENAI, **more):
    """Return the fault that one answer leads to, having checked that exactly one request was sent."""
    async with wired(answer, provider=provider) as (server, model):
        fault = await model.complete(request(**more))
        assert len(server.seen) == 1
        assert server.seen[0].path == provider.path
    assert isinstance(fault, Fault), fault
    assert KEY not in fault.message
    assert len(fault.message) < 440  # 300 of what came, 40 of its type, an address and the words around them.
    assert "\n" not in fault.message
    return fault


claude = partial(wired, provider=ANTHROPIC)
responding = partial(wired, provider=RESPONSES)
