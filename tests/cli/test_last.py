"""`--last` stands for the newest run, and commands about one run do not read the rows of all runs."""

import json
from dataclasses import replace

import pytest

from replan.cli.reading import FIRST_ROWS, newest_run
from replan.runs.families import runs_made_from
from replan.runs.inbox import all_questions
from replan.runs.reader import ALL, resolve_run
from runtime.core.clock import SystemClock
from runtime.core.errors import RunNotFound
from runtime.core.machine import Summary
from runtime.journal.memory import open_memory
from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, RECON
from tests.cli.test_bad_input import assert_refused
from tests.contracts.toy_events import CODEC, counted

FIRST = {"g_analysis": ANALYSIS, "g_recon": RECON}
"""The steps that run at the same time, with a reply of each."""

THIN = "Make it better, please."
BETTER = "The export in invoices/export.py raises ValueError for an empty total; it should write 0.00."


@pytest.fixture
def waiting(replan):
    for _ in range(2):
        assert replan("run", "-", "-m", "template:bug", "--no-input", input=THIN).exit_code == 6
    return run_id(replan)


def questions(replan, *arguments):
    return [question["id"] for question in json.loads(replan("questions", *arguments, "--json").stdout)["questions"]]


def test_the_only_question_of_the_newest_run_is_answered(replan, waiting):
    assert len(questions(replan)) == 2
    assert questions(replan, "--last") == [f"{waiting}/q1"]
    answered = json.loads(replan("answer", "--last", BETTER, "--json").stdout)
    assert (answered["question"], answered["result"]) == (f"{waiting}/q1", "accepted")
    assert questions(replan, "--last") == []
    assert len(questions(replan)) == 1
    assert_refused(
        replan("answer", "--last", "again"), waiting, "the newest run has no open question", "`replan questions`"
    )
    assert json.loads(replan("answer", "--last", "q1", BETTER, "--json").stdout)["result"] == "duplicate"


def test_a_question_without_an_answer_shows_how_to_answer(replan, waiting):
    for named in (f"{waiting}/q1", "--last"):
        hint = f"write `replan answer {waiting}/q1 TEXT`, or decline with --decline"
        assert_refused(replan("answer", named), "TEXT: there is no answer", hint)


def test_the_only_question_of_the_newest_run_is_declined(replan, waiting):
    result = replan("answer", "--last", "--decline")
    assert f"{waiting}/q1 is declined" in result.stderr
    assert "q1 was already declined" in replan("answer", "--last", "q1", "--decline").stderr


def test_of_several_questions_one_is_named(replan, problem, scripted):
    asking = {step: [{**reply, "open_questions": [f"What of {step}?"]}] for step, reply in FIRST.items()}
    replan("run", problem, "-m", scripted(asking), "--no-input")
    names = [name.partition("/")[2] for name in questions(replan, "--last")]
    assert len(names) == 2
    assert_refused(replan("answer", "--last", "3.11"), "2 open questions", "`replan answer --last ID TEXT`")
    assert replan("answer", "--last", names[1], "Linux").exit_code == 0


def test_a_note_goes_to_the_newest_run_which_can_be_cancelled(replan, waiting):
    assert json.loads(replan("tell", "--last", "It is slow.", "--json").stdout)["run_id"] == waiting
    assert json.loads(replan("tell", "-", "--last", "--json", input="Since May.").stdout)["run_id"] == waiting
    assert json.loads(replan("cancel", "--last", "--json").stdout)["run_id"] == waiting
    assert "No plan: cancelled" in replan("show", "--last").stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("answer",), "no question is named"),
        (("answer", "--last", "yes", "--decline", "no"), "both an answer and --decline"),
        (("tell",), "no run is named"),
        (("tell", "k7m2x9qa"), "the message is missing"),
        (("tell", "--last"), "the message is missing"),
        (("tell", "k7m2x9qa", "text", "--last"), "both a run and --last"),
        (("cancel",), "no run is named"),
        (("cancel", "k7m2x9qa", "--last"), "both a run and --last"),
        (("questions", "k7m2x9qa", "--last"), "both a run and --last"),
    ],
)
def test_what_is_missing_or_too_much_is_said(replan, arguments, told):
    assert_refused(replan(*arguments), told)


@pytest.mark.parametrize("arguments", [("answer", "--last", "x"), ("tell", "--last", "x"), ("cancel", "--last")])
def test_without_runs_there_is_no_newest_one(replan, arguments):
    result = replan(*arguments)
    assert result.exit_code == 8
    assert "no runs yet" in result.stderr


class Counting:
    """A journal that notes which lists are asked for."""

    def __init__(self, journal):
        self.journal, self.asked = journal, []

    def __getattr__(self, name):
        return getattr(self.journal, name)

    async def runs(self, which):
        self.asked.append(which)
        return await self.journal.runs(which)


async def test_a_whole_id_is_looked_up_and_a_prefix_is_searched():
    async with open_memory(CODEC, SystemClock()) as opened:
        journal = Counting(opened)
        await journal.create("k7m2x9qa", "", facts=counted(1))
        assert await resolve_run(journal, "k7m2x9qa") == "k7m2x9qa"
        assert journal.asked == []
        assert await resolve_run(journal, "k7m2x9") == "k7m2x9qa"
        assert journal.asked == [replace(ALL, run_start="k7m2x9")]
        with pytest.raises(RunNotFound):
            await resolve_run(journal, "none")


async def test_the_newest_run_is_found_in_the_first_rows():
    async with open_memory(CODEC, SystemClock()) as opened:

        class Reader:
            journal = Counting(opened)

        with pytest.raises(RunNotFound):
            await newest_run(Reader())
        await opened.create("oldest", "", facts=counted(1))
        assert await newest_run(Reader()) == "oldest"
        for number in range(FIRST_ROWS):
            await opened.create(f"oldest.{number}", "", facts=counted(1))
        Reader.journal.asked.clear()
        assert await newest_run(Reader()) == "oldest"
        assert [which.limit for which in Reader.journal.asked] == [FIRST_ROWS, FIRST_ROWS * 10]
        await opened.create("newest", "", facts=counted(1))
        Reader.journal.asked.clear()
        assert await newest_run(Reader()) == "newest"
        assert [which.limit for which in Reader.journal.asked] == [FIRST_ROWS]


async def test_executions_of_a_plan_are_found_by_their_title():
    async with open_memory(CODEC, SystemClock()) as opened:
        journal = Counting(opened)

        class Reader:
            pass

        Reader.journal = journal
        assert await runs_made_from(Reader(), "k7m2x9qa") == []
        [which] = journal.asked
        assert which.title_start == "plan k7m2x9qa: "


async def test_questions_are_listed_from_the_rows_of_the_runs_that_ask_and_no_run_is_read():
    """As R2 found: 1,000 of 20,000 runs were folded for it."""
    asks = json.dumps([{"id": "q1", "text": "Which version?", "asked": "2026-11-24T00:00:00Z"}])
    async with open_memory(CODEC, SystemClock()) as opened:
        for number in range(3):
            await opened.create(f"asks{number}", "", facts=counted(1), summary=Summary("waiting", "q1", 1.0, asks=asks))
        await opened.create("works", "", facts=counted(1))

        class Reader:
            journal = Counting(opened)

        asked = await all_questions(Reader())
        assert [each["text"] for each in asked.questions] == ["Which version?"] * 3
        assert asked.problems == ()
        [which] = Reader.journal.asked
        assert which.asks is True
