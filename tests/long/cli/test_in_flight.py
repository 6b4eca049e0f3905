"""Calls in flight, as progress shows them: their age, and the characters of a streamed reply."""

import json
import re
from functools import partial

import pytest

from replan.cli.terminal import progress
from replan.cli.terminal.progress import CallsInFlight
from runtime.models.watched import LiveReplies
from tests.cli.samples import PLAN
from tests.support.openai_server import Answer, serve


class Time:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def served(monkeypatch):
    """A server that streams a plan within a second and a half."""
    with serve(lambda _b, _h, _n: Answer.stream(json.dumps(PLAN), pieces=15, gap_seconds=0.12)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
        yield server


def test_a_long_call_is_reported_at_growing_intervals():
    time = Time()
    flights = CallsInFlight(dict, time)
    flights.set_open(["g_plan/v1.a1"])
    notices = []
    for time.now in range(300):
        notices += [(time.now, text) for text in flights.due()]
    assert [second for second, _ in notices] == [30, 60, 120, 180, 240]
    assert notices[0][1] == "g_plan/v1.a1 under way for 30 s"


def test_characters_are_shown_of_open_calls_only():
    time, replies = Time(), LiveReplies()
    flights = CallsInFlight(partial(replies.of, "r"), time)
    flights.set_open(["a/v1.a1"])
    replies.heard("r", "a/v1.a1", 1234, lambda: "the \x1b[31mend")
    replies.heard("r", "c/v1.a1", 99, str)
    time.now = 3.0
    flights.set_open(["a/v1.a1", "b/v1.a1"])
    assert flights.all() == [
        ("a/v1.a1 under way for 3 s, 1,234 characters so far", "the end"),
        ("b/v1.a1 under way for 0 s", ""),
    ]
    flights.set_open([])
    assert flights.all() == []


def test_a_pipe_gets_lines_about_a_long_call_and_its_duration(replan, problem, served, monkeypatch):
    monkeypatch.setattr(progress, "FIRST_SECONDS", 0.5)
    result = replan("run", problem, "-m", "gpt", "-w", "single")
    assert result.exit_code == 0, result.stderr
    assert re.search(r"plan under way for [1-9]\d* s, \d+ characters so far", result.stderr)
    assert re.search(r"plan accepted, after [1-9]\d* s", result.stderr)


def test_a_terminal_counts_the_characters(home, problem, served, in_terminal):
    terminal = in_terminal("run", problem, "-m", "gpt", "-w", "single", COLUMNS="100", NO_COLOR="1")
    assert terminal.end() == 0
    shown = re.findall(r"plan under way for \d+ s, \d+ characters so far: …([^\r\n]+)", terminal.text)
    assert shown
    assert all(end.strip() in json.dumps(PLAN) for end in shown), shown
    last = terminal.text[terminal.text.rindex("Plan p1") :] if "Plan p1" in terminal.text else terminal.text
    assert "under way" not in last


def test_a_run_whose_result_is_json_shows_nothing(replan, problem, served):
    result = replan("run", problem, "-m", "gpt", "-w", "single", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
