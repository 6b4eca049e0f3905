"""The advice after a failure of the provider: a next step for each kind of fault."""

import pytest

from actors.run import outage
from actors.run.advice import provider_advice
from runtime.models.port import Fault, FaultKind

STEPS = {
    FaultKind.REFUSED_CONNECTION: "start the server",
    FaultKind.UNRESOLVED_HOST: "check the host's name in OPENAI_BASE_URL",
    FaultKind.RATE_LIMITED: "wait until the provider accepts requests again",
    FaultKind.AUTH: "add credit",
    FaultKind.NOT_FOUND: "add the missing reply to the script",
    FaultKind.CONTENT_REFUSED: "reword",
    FaultKind.BAD_REQUEST: "if the prompt is too long",
    FaultKind.SERVER_ERROR: "try again later",
    FaultKind.CUT: "proxies before it",
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
