"""A run asks its model at the server that it began with. A person must say so before another server is asked."""

import json

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import LOST, PLAN
from tests.cli.test_bad_input import assert_refused
from tests.support.openai_server import Answer, by_step, serve

MODEL = "gpt-test"


def address(server):
    return server.base_url.removeprefix("http://").removesuffix("/v1").replace("127.0.0.1", "localhost")


@pytest.fixture
def first():
    with serve(by_step({"g_plan": [LOST]})) as server:
        yield server


@pytest.fixture
def other():
    with serve(by_step({"*": Answer.value(PLAN)})) as server:
        yield server


@pytest.fixture
def run(replan, problem, first, other, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("OPENAI_BASE_URL", first.base_url)
    assert replan("run", problem, "-m", MODEL, "-w", "single", "--max-calls", "1").exit_code == 5
    monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
    return run_id(replan)


def test_a_resume_asks_no_other_server(replan, run, first, other):
    refused = replan("resume", run, "--max-calls", "5")
    cause = f"OPENAI_BASE_URL: the model of run {run} was at {address(first)}, and is now at {address(other)}"
    assert_refused(refused, cause, f"use the other server with `replan resume {run} -m {MODEL}`")
    assert other.seen == []


def test_without_an_address_a_key_does_not_send_the_run_to_openai(replan, run, first, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    refused = replan("resume", run, "--max-calls", "5")
    assert_refused(refused, f"was at {address(first)}, and is now at api.openai.com:443")


def test_a_person_who_names_the_model_sends_the_run_to_the_other_server_for_good(replan, run, first, other):
    moved = replan("resume", run, "--max-calls", "2", "-m", MODEL, "--json")
    assert (moved.exit_code, json.loads(moved.stdout)["calls"]) == (0, 2), moved.output
    assert len(other.seen) == 1
    (record,) = [r for r in map(json.loads, replan("log", run, "--json").stdout.splitlines()) if r.get("server")]
    assert record["server"] == address(other)


def test_the_same_server_by_another_name_of_this_machine_is_no_other_server(replan, run, first, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", first.base_url.replace("127.0.0.1", "localhost"))
    assert replan("resume", run, "--max-calls", "2").exit_code != 2
    assert len(first.seen) == 2


def test_a_fork_asks_no_other_server_either(replan, run, other):
    forked = replan("fork", run, "--max-calls", "5")
    assert forked.exit_code == 2, forked.output
    assert "and is now at" in " ".join(forked.stderr.split())
    assert other.seen == []
