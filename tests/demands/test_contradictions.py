"""Demands that contradict each other are found by their words."""

import pytest

from actors.demands.contradictions import contradictions
from actors.demands.reader import read_demands

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
