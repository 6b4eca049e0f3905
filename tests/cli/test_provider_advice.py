"""The advice after a failure of the provider: a next step for each kind of fault."""

import json

import pytest

from actors.run import outage
from actors.run.advice import provider_advice
from runtime.models.port import Fault, FaultKind
from tests.cli.samples import LOST
from tests.cli.test_run import use_server
from tests.support.openai_server import Answer, serve

STEPS = {
    FaultKind.REFUSED_CONNECTION: "start the server",
    FaultKind.UNRESOLVED_HOST: "check the host's name in OPENAI_BASE_URL",
    FaultKind.RATE_LIMITED: "wait until the provider takes requests again",
    FaultKind.AUTH: "add credit",
    FaultKind.NOT_FOUND: "give the script the reply that it lacks",
    FaultKind.CONTENT_REFUSED: "reword",
    FaultKind.BAD_REQUEST: "a prompt that is too long",
    FaultKind.SERVER_ERROR: "try again later",
    FaultKind.CUT: "proxies on the way",
    FaultKind.TIMEOUT: "model_timeout_seconds",
    FaultKind.NO_API: "correct OPENAI_BASE_URL",
    FaultKind.BAD_REPLY: "set OPENAI_BASE_URL to an OpenAI-compatible server",
    FaultKind.PROMPT_TOO_LONG: "use a model with a larger window",
    FaultKind.TOO_LARGE: "output_tokens_max",
}


def test_every_fault_has_its_own_advice():
    advice = {kind: provider_advice(Fault(kind=kind, message="")) for kind in FaultKind}
    assert {kind: STEPS[kind] in text for kind, text in advice.items()} == dict.fromkeys(FaultKind, True)
    assert len(set(advice.values())) == len(FaultKind)


@pytest.mark.parametrize("kind", FaultKind)
def test_the_result_of_a_fault_has_advice(replan, problem, scripted, monkeypatch, kind):
    monkeypatch.setattr(outage, "BACKOFF_FIRST", 0.001)
    script = scripted({"g_plan": [{"fault": kind.value}] * 5})
    result = replan("run", problem, "-m", script, "-w", "single", "--patience", "0.001s")
    assert result.exit_code == 4
    step = next(line for line in result.stdout.splitlines() if line.startswith("Next: "))
    assert STEPS[kind] in step
    assert result.stdout.startswith("Parked")
    assert "`replan resume" in step


def test_the_result_of_an_exhausted_daily_budget_has_advice(replan, home, problem, scripted):
    home.mkdir()
    (home / "config.yaml").write_text("home_budget: {calls: 1, when_spent: end}\n")
    result = replan("run", problem, "-m", scripted({"g_plan": [LOST, LOST]}), "-w", "single")
    assert result.exit_code == 5, result.output
    step = next(line for line in result.stdout.splitlines() if line.startswith("Next: "))
    assert "on the next day (UTC), or with a larger `home_budget`" in " ".join(result.stdout.split())
    assert "more time or calls" not in step


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (401, "invalid_api_key", "set OPENAI_API_KEY to a key that this server takes"),
        (402, "", "add credit to the account"),
        (403, "", "use a key that may use this model"),
        (404, "model_not_found", "correct the model's name (-m or REPLAN_MODEL), or OPENAI_BASE_URL"),
        (307, "", "set OPENAI_BASE_URL to where the server redirects"),
        (400, "content_filter", "reword what the provider's filter may object to"),
        (400, "context_length_exceeded", "shorten the problem, take shorter prompts (`--compact`)"),
        (429, "insufficient_quota", "add credit to the account"),
        (429, "", "wait until the provider takes requests again"),
        (503, "", "the trouble is the provider's"),
    ],
)
def test_each_http_status_has_its_advice(replan, problem, monkeypatch, *, status, code, words):
    monkeypatch.setattr(outage, "BACKOFF_FIRST", 0.001)
    answer = Answer(status=status, body=json.dumps({"error": {"message": "no", "code": code}}).encode())
    with serve(lambda _b, _h, _n: answer) as server:
        use_server(monkeypatch, server.base_url)
        result = replan("run", problem, "-m", "gpt-test", "-w", "single", "--patience", "0.001s")
    assert result.exit_code == 4
    assert words in result.stdout
