"""One warm process for all crash tests."""

from collections.abc import Iterator

import pytest

from tests.support.zygote import Zygote, zygote


@pytest.fixture(scope="session")
def forker() -> Iterator[Zygote]:
    with zygote() as running:
        yield running
