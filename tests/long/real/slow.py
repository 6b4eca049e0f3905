"""Whole runs with a real model: they end in an orderly way, survive `kill -9` in mid-generation, and share its slots.

`make real` runs them, in half a minute. The model is too small to write a plan, so an outcome is not expected.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
import trio

from runtime.models.open_models import open_openai
from runtime.models.port import Reply
from tests.long.real.serve_model import NAME
from tests.long.real.test_client import asked

PROBLEM = "`parse_date()` in `dates.py` raises ValueError for 2024-02-30. It should return None. Python 3.9 must work."
ENDS = {0, 3, 4, 5, 6}
"""A plan, none that is right, parked since replies are cut off again and again, no calls left, or a question."""


def replan(real, folder, *words, **more):
    """Start the program with a home of its own, and return the process."""
    environment = {**os.environ, **real.environment, "REPLAN_HOME": str(folder / "home")}
    environment.pop("OPENAI_API_KEY", None)
    command = [sys.executable, "-m", "replan", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def done(process, seconds=1200):
    """Return the exit code, and what was printed."""
    out, err = process.communicate(timeout=seconds)
    assert "Traceback" not in err
    return process.returncode, out


def events_of(real, folder, run):
    return json.loads(done(replan(real, folder, "show", run, "--events", "--json"))[1])["events"]


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.md"
    path.write_text(PROBLEM)
    return str(path)


SMALL = ("--compact", "--no-input", "--output-tokens-max", "300", "--max-calls", "4", "--json")


def test_a_run_ends_in_an_orderly_way_and_its_tokens_are_those_that_the_server_counted(real, tmp_path, problem):
    code, out = done(replan(real, tmp_path, "run", problem, *SMALL))
    result = json.loads(out)
    assert code in ENDS
    assert result["calls"] <= 4
    events = events_of(real, tmp_path, result["run_id"])
    replies = [event for event in events if event["kind"] == "artifact_produced"]
    assert replies
    assert all(event["usage"]["output_tokens"] <= 301 for event in replies)
    counted = sum(event["usage"]["input_tokens"] + event["usage"]["output_tokens"] for event in replies)
    assert result["tokens"] == counted


def test_a_run_that_is_killed_in_mid_generation_goes_on_and_counts_the_lost_call(real, tmp_path, problem):
    process = replan(real, tmp_path, "run", problem, *SMALL)
    until = time.monotonic() + 600
    while real.working() == 0:
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    until = time.monotonic() + 600  # llama.cpp looks for its client when it writes a token, and not while it reads.
    while real.working():
        assert time.monotonic() < until, "the server still writes for nobody"
        time.sleep(0.05)
    code, out = done(replan(real, tmp_path, "resume", "--last", "--json"))
    assert code in ENDS
    result = json.loads(out)
    kinds = Counter(event["kind"] for event in events_of(real, tmp_path, result["run_id"]))
    assert kinds["request_reissued"] >= 1, "what the killed program had asked for is asked for again"
    assert result["calls"] == kinds["artifact_produced"] + kinds["request_reissued"] <= 4, "and charged as unknown"
    code, _ = done(replan(real, tmp_path, "home", "verify"))
    assert code == 0


async def test_more_calls_than_slots_are_all_answered(real):
    replies = []

    async def ask(model, number):
        replies.append(await model.complete(asked(f"Name an animal with {number} letters.")))

    async with open_openai(NAME, base_url=real.base_url) as model, trio.open_nursery() as nursery:
        for number in range(3, 9):
            nursery.start_soon(ask, model, number)
    assert [type(reply) for reply in replies] == [Reply] * 6
