"""Acquisitions from Python: in one call, in trio and in asyncio."""

import asyncio
import inspect
import re

import pytest

import replan
import replan_acquire
from actors.run.limits import LIMITS
from replan.setup.installation import data_root
from tests.api.test_shown_objects import HOSTILE, Tags

DOCS = data_root() / "docs" / "examples" / "market"
GIVEN = {"core.region": "Portugal", "core.currency": "EUR"}
OPTIONS = {"docs": DOCS, "given": GIVEN, "model": "quoting:", "home": replan.MEMORY}


def answer(question):
    assert "expect to win" in question["text"]
    return "4 %"


def test_a_schema_is_filled_and_the_function_that_answers_is_asked():
    result = replan_acquire.acquire("market_size", "EV charging in Portugal", ask=answer, **OPTIONS)
    assert isinstance(result, replan_acquire.AcquisitionResult)
    assert result.succeeded
    assert [step.name for step in result.calculation.steps] == ["tam", "sam", "som"]


async def test_a_schema_is_filled_in_trio():
    result = await replan_acquire.aacquire("market_size", "EV charging in Portugal", **OPTIONS)
    assert (result.status, result.missing) == ("waiting", ("segment.win_rate",))


def test_a_schema_is_filled_in_asyncio():
    result = asyncio.run(replan_acquire.aacquire("market_size", "EV charging in Portugal", ask=answer, **OPTIONS))
    assert result.succeeded


@pytest.mark.parametrize(
    ("change", "place"),
    [({"docs": "/nope"}, "docs"), ({"given": {"a.b": "1"}}, "given"), ({"max_calls": 0}, "max_calls")],
)
def test_bad_input_names_the_keyword(change, place):
    with pytest.raises(replan.UsageProblem) as problem:
        replan_acquire.acquire("market_size", "x", **OPTIONS | change)
    assert problem.value.place == place


def test_a_template_fills_no_profile():
    with pytest.raises(replan.UsageProblem, match="a template reads no documents"):
        replan_acquire.acquire("market_size", "Sheds", model="template:bug", home=replan.MEMORY)


def test_a_result_is_one_line_in_a_console_and_a_page_without_foreign_markup_in_a_notebook(tmp_path):
    result = replan_acquire.acquire("market_size", HOSTILE, model="quoting:", home=tmp_path / "home")
    assert re.fullmatch(r"<AcquisitionResult \w{8}: waiting, 0 of \d+ fields, \d+ calls?>", repr(result))
    assert Tags(result._repr_html_()).tags <= {("pre", "style"), ("span", "style")}


@pytest.mark.parametrize("name", ["aacquire", "acquire"])
def test_each_limit_of_a_run_and_each_plug_in_is_a_keyword(name):
    taken = inspect.signature(getattr(replan_acquire, name)).parameters
    assert {*LIMITS, "guards", "generators"} <= set(taken)
