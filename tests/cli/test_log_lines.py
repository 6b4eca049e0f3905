"""The log of a run: one line per record, with its step and branch."""

import json
import re

import pytest
import trio

from replan.runs.home import open_home
from runtime.process.identity import identity
from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN

NAMED = re.compile(r"([a-z]\w*)/v\d+\.a\d+(?:\.b(\d+))?")
"""A node id, alone or within a request id."""


async def announce():
    """Announce this process as a host of the home."""
    async with open_home() as engine:
        await engine.journal.announce("a host", identity(), 60.0)


@pytest.fixture
def beam_search(replan, home, problem, scripted):
    """The records of a beam search with a rejection, and the lines of its log."""
    model = scripted({"g_plan": ["this is no plan", "nor is this", PLAN, PLAN]})
    assert replan("run", problem, "-m", model, "-w", "single", "--search", "beam:2").exit_code == 0
    lines = [json.loads(row) for row in (home / "log.jsonl").read_text().splitlines()]
    records = json.loads(replan("show", run_id(replan), "--events", "--json").stdout)["events"]
    return records, [row for row in lines if row["logger"] == "replan.journal"]


def test_each_record_has_one_line_with_its_number(beam_search):
    records, lines = beam_search
    assert [(row["seq"], row["event"]) for row in lines] == [(record["seq"], record["kind"]) for record in records]
    assert len({row["run_id"] for row in lines}) == 1


def test_the_line_of_a_record_with_a_node_has_its_step_and_branch(beam_search):
    records, lines = beam_search
    kinds, branches = set(), set()
    for record, row in zip(records, lines, strict=True):
        named = NAMED.search(f"{record.get('node', '')} {record.get('request_id', '')}")
        if named is not None:
            assert (row["step"], row["branch"]) == (named[1], int(named[2] or 0)), row
            kinds.add(record["kind"])
            branches.add(row["branch"])
    assert kinds >= {
        "generation_requested", "artifact_produced", "judgement_requested", "verdict_reached", "decided"
    }  # fmt: skip
    assert len(branches) > 1


def test_the_line_of_a_branch_event_has_its_branch(beam_search):
    _, lines = beam_search
    opened = [row["branch"] for row in lines if row["event"] == "branch_opened"]
    assert opened == list(range(1, len(opened) + 1))
    assert isinstance(lines[-1]["branch"], int)


def test_an_admission_is_logged(replan, home, problem):
    trio.run(announce)
    assert replan("run", problem, "-m", "template:bug", "--detach").exit_code == 0
    (line,) = [json.loads(row) for row in (home / "log.jsonl").read_text().splitlines()]
    assert (line["event"], line["seq"]) == ("run_started", 1)


def test_the_line_of_an_answer_has_its_step(replan, home, problem, scripted):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    assert replan("run", problem, "-m", model, "-w", "option_a", "--no-input").exit_code == 6
    run = run_id(replan)
    assert replan("answer", f"{run}/q1", "3.12").exit_code == 0
    assert replan("resume", run).exit_code == 0
    lines = [json.loads(row) for row in (home / "log.jsonl").read_text().splitlines()]
    (line,) = [row for row in lines if row["event"] == "clarification_answered"]
    assert (line["step"], line["node"], line["branch"]) == ("g_analysis", "g_analysis/v1.a1", 0)
