"""Filling a schema from Python, in trio, in asyncio, and outside of both."""

import asyncio
from pathlib import Path

import pytest

import replan

DOCS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "market"
GIVEN = {"core.region": "Portugal", "core.currency": "EUR"}
OPTIONS = {"docs": DOCS, "given": GIVEN, "model": "simulated:exact", "home": replan.MEMORY}


def answer(question):
    assert "expect to win" in question["text"]
    return "4 %"


def test_a_schema_is_filled_and_the_function_that_answers_is_asked():
    result = replan.acquire("market_size", "EV charging in Portugal", ask=answer, **OPTIONS)
    assert isinstance(result, replan.AcquisitionResult)
    assert result.succeeded
    assert [step.name for step in result.calculation.steps] == ["tam", "sam", "som"]


async def test_a_schema_is_filled_in_trio():
    result = await replan.aacquire("market_size", "EV charging in Portugal", **OPTIONS)
    assert (result.status, result.missing) == ("waiting", ("segment.win_rate",))


def test_a_schema_is_filled_in_asyncio():
    result = asyncio.run(replan.aacquire("market_size", "EV charging in Portugal", ask=answer, **OPTIONS))
    assert result.succeeded


@pytest.mark.parametrize(
    ("change", "place"),
    [({"docs": "/nope"}, "docs"), ({"given": {"a.b": "1"}}, "given"), ({"max_calls": 0}, "max_calls")],
)
def test_bad_input_names_the_keyword(change, place):
    with pytest.raises(replan.UsageProblem) as problem:
        replan.acquire("market_size", "x", **OPTIONS | change)
    assert problem.value.place == place
