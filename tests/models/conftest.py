"""The clients of all interfaces, for the tests that hold for each."""

from functools import partial

import pytest

from tests.models import wired as wires


@pytest.fixture(params=[wires.OPENAI, wires.RESPONSES, wires.ANTHROPIC], ids=lambda provider: provider.name)
def provider(request):
    return request.param


@pytest.fixture
def wired(provider):
    """Yields a server and a model of the provider that talks to it."""
    return partial(wires.wired, provider=provider)


@pytest.fixture
def fault_of(provider):
    return partial(wires.fault_of, provider=provider)
