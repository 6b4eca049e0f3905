"""What the built-in author makes of labelled problem statements: kinds, questions, and what becomes of stated items."""

from functools import cache

import pytest

from .evaluation import PLANNED, judge, published, report, shares, statements


@cache
def results(name):
    """Return what the author makes of the statements of a set."""
    return tuple(judge(statement) for statement in statements(name))


@pytest.mark.parametrize("name", ["development", "held_out"])
def test_the_shares_are_as_promised(name):
    """Nine kinds in ten are right, few questions, most of what is demanded is taken up, and nothing else is planned.

    Demands are found by `actors.demands`, whose own share is measured there.
    """
    measured = shares(results(name))
    right, planned = measured["kinds right among those planned"]
    assert right >= 0.9 * planned
    questions, english = measured["English software statements asked about"]
    refused, _ = measured["English software statements refused"]
    assert questions + refused <= 0.15 * english
    assert measured["texts not about software planned"][0] == 0
    assert measured["texts in other languages planned"][0] == 0
    kept, demands = measured["stated demands taken up or listed"]
    assert kept >= 0.88 * demands
    assert measured["stated demands taken up by a step"][0] >= 0.88 * demands


def test_the_statements_are_many_and_of_all_sorts():
    every = [statement for name in ("development", "held_out") for statement in statements(name)]
    assert len(every) >= 80
    assert len({statement["id"] for statement in every}) == len(every)
    assert len({statement["language"] for statement in every}) >= 4
    assert sum(statement["kind"] == "none" for statement in every) >= 10
    for statement in every:
        text = " ".join(statement["text"].split())
        assert all(item["quote"] in text for item in statement.get("items", ()))


def test_the_published_table_is_what_is_measured():
    """`python -m tests.rules.evaluation --write` writes it anew."""
    assert published() == report(results("held_out"))


def test_a_stated_cause_is_used():
    with_cause = [result for result in results("development") if "cause" in result.statement]
    assert with_cause
    for result in with_cause:
        cause = result.statement["cause"]
        assert result.result in PLANNED, cause
        assert cause in result.plan["basis"]
        assert any(cause in step["description"] for step in result.plan["steps"]), cause
