"""What tests of tools share."""

import pytest

from tests.tools.agent_case import AgentCase
from tests.tools.calling import Bench


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.fixture
def case(bench):
    return AgentCase(bench)
