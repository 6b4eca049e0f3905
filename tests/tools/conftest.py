"""What tests of tools share."""

import pytest

from tests.tools.calling import Bench


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)
