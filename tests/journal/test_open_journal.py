"""Opening a journal by its URL."""

import sys

import pytest

from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import HomeBudgetSpent, UsageProblem
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.open_journal import open_journal
from tests.contracts.toy_events import CODEC, counted, driven


@pytest.mark.parametrize("kept", [True, False])
async def test_a_url_opens_the_journal_that_it_names(tmp_path, clock, kept):
    url = f"sqlite:{tmp_path / 'home' / 'journal.sqlite3'}" if kept else "memory:"
    async with open_journal(url, CODEC, clock, budget=HomeBudget(calls=1)) as journal:
        epoch = await driven(journal, "a")
        summary = Summary("running", committed=Amount(calls=2))
        with pytest.raises(HomeBudgetSpent):
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=summary)
    async with open_journal(url, {"planning": CODEC}, clock) as journal:
        if kept:
            assert (await journal.row("a")).title == "title of a"
        else:
            await journal.create("a", "")


@pytest.mark.parametrize("url", ["sqlite:", "memory:x", "sqlite", "memory", "", "home/journal.sqlite3"])
def test_what_is_no_url_of_a_journal_is_refused_in_one_line(clock, url):
    with pytest.raises(UsageProblem, match="sqlite:PATH or memory:") as caught:
        open_journal(url, CODEC, clock)
    assert len(str(caught.value).splitlines()) == 1


def test_a_url_of_an_unknown_form_is_refused_without_its_password(clock):
    with pytest.raises(UsageProblem, match="there is no journal of the form mysql:") as caught:
        open_journal("mysql://user:secret@server/db", CODEC, clock)
    assert "secret" not in str(caught.value)


def test_a_database_without_the_extra_is_refused_in_one_line_that_names_it(clock, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageProblem, match=r"extra postgres \(pip install '[^']*\[postgres\]'\)") as caught:
        open_journal("postgresql://user:secret@server/db", CODEC, clock)
    assert "secret" not in str(caught.value)
