"""Runs with a model behind OpenAI's Responses API: what is kept between attempts, and what is lost with the process."""

import json

import pytest

from actors.run import outage
from tests.cli.conftest import run_id
from tests.cli.samples import LOST, PLAN
from tests.support import responses_api as api
from tests.support.openai_server import Answer, serve

MODEL = "openai-responses:gpt-test"
SECRET = "gAAAA-what-the-model-thought"


@pytest.fixture
def server(monkeypatch):

    def answer(_body, _headers, n):
        message = api.message(api.text(json.dumps(LOST if n == 1 else PLAN)))
        return api.stream(api.response(api.reasoning(SECRET), message, usage=api.usage(700, 100, reasoning=60)))

    with serve(answer) as started:
        monkeypatch.setenv("OPENAI_BASE_URL", started.base_url)
        yield started


def thoughts(server):
    """Return how many items of reasoning each request has."""
    return [sum(item.get("type") == "reasoning" for item in seen.body["input"]) for seen in server.seen]


def test_the_second_attempt_gets_the_reasoning_of_the_first_which_no_file_holds(replan, home, problem, server):
    done = replan("run", problem, "-m", MODEL, "-w", "single", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout)
    assert (result["calls"], result["tokens"]) == (2, 1600)
    assert [seen.path for seen in server.seen] == ["/v1/responses"] * 2
    assert thoughts(server) == [0, 1]
    assert not any(SECRET.encode() in path.read_bytes() for path in home.rglob("*") if path.is_file())
    replay = replan("run", problem, "-m", f"replay:{result['run_id']}", "-w", "single", "--json")
    assert json.loads(replay.stdout)["outcome"] == result["outcome"]


def test_a_run_that_goes_on_in_another_process_asks_without_it(replan, problem, server):
    assert replan("run", problem, "-m", MODEL, "-w", "single", "--max-calls", "1").exit_code == 5
    assert replan("resume", run_id(replan), "--max-calls", "5").exit_code == 0
    assert thoughts(server) == [0, 0]


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (Answer.fault(401, "Incorrect API key provided"), "set OPENAI_API_KEY to a key that this server accepts"),
        (Answer.fault(404, "no such path"), "correct the model's name (-m or REPLAN_MODEL), or OPENAI_BASE_URL"),
    ],
)
def test_what_fails_is_told_with_its_variable(replan, problem, monkeypatch, answer, line):
    monkeypatch.setattr(outage, "BACKOFF_FIRST", 0.001)
    with serve(lambda *_: answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        parked = replan("run", problem, "-m", MODEL, "-w", "single")
    assert parked.exit_code == 4
    assert line in " ".join(parked.stdout.split())


def test_a_setting_that_the_interface_does_not_have_is_refused_before_the_run(replan, problem, server):
    refused = replan("run", problem, "-m", MODEL, "-w", "single", "--model-settings", "seed=7")
    assert refused.exit_code == 2
    assert f"the provider of '{MODEL}' does not accept seed (remove seed)" in refused.stderr
    assert server.seen == []


@pytest.mark.parametrize(("model", "told"), [("gpt-6", True), ("gpt-5-mini", False), (MODEL, True)])
def test_the_doctor_says_what_is_asked_by_the_responses_api(replan, monkeypatch, model, told):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    assert (", by the Responses API" in replan("doctor", "-m", model).stdout) is told


@pytest.mark.parametrize(("model", "missing"), [("bedrock:m", "AWS_REGION"), ("azure:m", "AZURE_OPENAI_ENDPOINT")])
def test_the_doctor_says_what_the_address_of_a_provider_lacks(replan, model, missing):
    checks = replan("doctor", "-m", model, "--json")
    found = {check["name"]: check["found"] for check in json.loads(checks.stdout)["checks"]}
    assert found["server"] == f"none: {missing} is not set"
