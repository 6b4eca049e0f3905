"""A journal in SQLite in the test's own folder, on a clock moved by hand; `test_memory` opens its own instead."""

from functools import partial

import pytest

from runtime.journal.port import Fact
from runtime.journal.sqlite.journal import open_sqlite
from tests.contracts.toy_events import CODEC, RUNNING, ManualClock, Noted, counted, driven


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "journal.sqlite3"


@pytest.fixture
def open_journal(path, clock):
    return partial(open_sqlite, path, codecs=CODEC, clock=clock)


@pytest.fixture
async def written(open_journal):
    async with open_journal() as journal:
        epoch = await driven(journal, "a")
        await journal.post("a", "key", "the message")
        # Each in a row of its own, so that damage to a row is damage to one record.
        facts = [*counted(1), Fact(Noted(text="the text"), inbox=1), *counted(3)]
        for place, fact in enumerate(facts):
            await journal.append("a", after=place, epoch=epoch, facts=[fact], summary=RUNNING)
