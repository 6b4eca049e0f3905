"""Demands that contradict each other are found by their words."""

import pytest

from actors.demands.contradictions import contradictions, unclear
from actors.demands.reader import read_demands
from tests.demands.evaluation import sets, texts

APART = (
    "We must log everything for the audit. Never log request bodies.",
    "- Log all request bodies\n- Do not log bodies of requests",
    "Requirements:\n- No new storage\n- Add a new storage for the archive",
    "Please remove the endpoint `/v1/orders`. Keep the endpoint `/v1/orders`.",
    "The client must retry at least 5 times. The client must retry at most 3 times.",
)
TOGETHER = (
    "Log every request. Never log passwords.",
    "Remove the old importer. Keep the tests.",
    "Add a new column to the export. No new dependencies.",
    "Requirements:\n- Add a new storage\n- Without asking the owner of the storage",
    "The job must take at most 5 minutes. The job must keep at least 3 backups.",
    "Do not touch `models.py`. Please add an index on orders.",
)


@pytest.mark.parametrize("text", APART)
def test_a_contradiction_is_found(text):
    demands = read_demands(text).demands
    assert len(demands) == 2
    assert list(contradictions(demands)) == [tuple(demands)]


@pytest.mark.parametrize("text", TOGETHER)
def test_demands_that_can_all_be_met_are_no_contradiction(text):
    demands = read_demands(text).demands
    assert len(demands) == 2
    assert not list(contradictions(demands))


UNCLEAR = {
    "- The search must answer within 200 ms\n- The search must answer within 500 ms": "one limit two values",
    "Uploads must be at most 5 MB. Uploads may be at most 10 MB.": "one limit two values",
    "- The job must keep at least 3 backups\n- The job must keep at least 7 backups": "one limit two values",
    "Deadline: 1 May.\n\nThe deadline is 3 May.": "two dates",
    "The fix must be live before Friday. It must be live by Monday.": "two dates",
}
CLEAR = (
    "- The page must load within 2 s on desktop\n- The page must load within 5 s on mobile",
    "The client must retry at least 3 times. The client must retry at most 5 times.",
    "- The search must answer within 200 ms\n- The export must answer within 500 ms",
    "- The search must answer within 200 ms\n- The search must answer within 200 ms.",
    "The tests must be written by Friday. The fix must be live by Monday.",
    "- Uploads must be at most 5 MB\n- Never allow uploads of at most 10 MB",
)


@pytest.mark.parametrize("text", UNCLEAR)
def test_two_demands_that_differ_in_nothing_but_a_number_or_a_date_leave_open_what_is_meant(text):
    demands = read_demands(text).demands
    assert len(demands) == 2
    ((one, other, why),) = unclear(demands)
    assert (one, other) == tuple(demands)
    assert UNCLEAR[text] in why


@pytest.mark.parametrize("text", CLEAR)
def test_demands_about_different_things_are_clear(text):
    demands = read_demands(text).demands
    assert demands
    assert list(unclear(demands)) == []


def test_no_text_that_was_marked_by_hand_is_asked_about_for_nothing():
    """None of them has two such demands."""
    read = [read_demands(each["text"]).demands for name in sets() for each in texts(name)]
    assert len(read) > 200
    assert [pair for demands in read for pair in unclear(demands)] == []
