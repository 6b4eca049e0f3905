"""The event loops that the API's tests run in."""

import anyio
import pytest

from tests.cli.samples import write_script


@pytest.fixture(params=["trio", "asyncio"])
def backend(request):
    return request.param


@pytest.fixture
def in_loop(backend):
    return lambda main, *arguments: anyio.run(main, *arguments, backend=backend)


@pytest.fixture
def scripted(tmp_path):
    return lambda script, name="script.yaml": write_script(tmp_path, script, name)
