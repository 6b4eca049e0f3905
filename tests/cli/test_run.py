"""`run`: its output, the object of `--json`, the exit code of every ending, and what signals mean."""

import json
import re
import signal

import pytest
import trio
import trio.testing

from actors.config.step_guards import BUILT_IN
from actors.run import outage
from replan.cli.drive import Signals
from replan.cli.exits import Exit
from runtime.drive.options import TERMINATED_SECONDS, Stop
from tests.cli.conftest import run_id
from tests.cli.samples import (
    ANALYSIS,
    BACKTRACKS,
    DEMAND_KEYS,
    LOST,
    PLAN,
    RESULT_KEYS,
    delayed_reply,
    distinct,
)
from tests.support.openai_server import Answer, serve


def test_a_plan_goes_to_stdout_and_progress_to_stderr(replan, problem, scripted):
    result = replan("run", problem, "-m", scripted(BACKTRACKS))
    assert result.exit_code == 0
    for text in (
        "Plan p1: The login works",
        "1. find",
        "(only after a failure)",
        "Proved at level medium",
        "9 model calls",
    ):
        assert text in result.stdout
    assert "plan rejected: step fix needs" in result.stderr
    assert re.search(r"plan, second attempt rejected: .*; back to analysis, recon\n", result.stderr)
    assert "asked for" not in result.stdout + result.stderr
    first, *_, last = result.stderr.splitlines()
    assert re.fullmatch(r"\d\d:\d\d:\d\d run [a-z0-9]{8} started, 30 calls at most", first)
    assert last.endswith("finished: success")


def test_json_prints_exactly_one_object(replan, problem, scripted):
    result = replan("run", problem, "-m", scripted(BACKTRACKS), "--json")
    shown = json.loads(result.stdout)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert set(shown) == {*RESULT_KEYS, *DEMAND_KEYS, "outcome", "why"}
    assert (shown["status"], shown["outcome"], shown["calls"], shown["revision"]) == ("finished", "success", 9, 1)
    assert shown["plan"] == PLAN
    assert [step["step"] for step in shown["path"]] == ["g_analysis", "g_recon", "g_strategy", "g_plan"]
    assert all(set(step) == {"step", "node", "value", "score"} for step in shown["path"])


ENDINGS = {
    "all_pruned": ({"g_plan": distinct(LOST, 3)}, ["-w", "single"], 3),
    "backtrack_ceiling": ({"g_analysis": [ANALYSIS], "g_plan": distinct(LOST, 3)}, ["-w", "option_a"], 3),
    "budget_exhausted": ({"g_plan": distinct(LOST, 3)}, ["-w", "single", "--max-calls", "2"], 5),
}


@pytest.mark.parametrize("outcome", ENDINGS)
def test_every_ending_has_its_exit_code_and_advice(replan, problem, scripted, outcome):
    script, flags, code = ENDINGS[outcome]
    result = replan("run", problem, "-m", scripted(script), *flags)
    assert result.exit_code == code
    assert f"No plan: {outcome}" in result.stdout
    assert "Next: " in result.stdout
    shown = json.loads(replan("show", run_id(replan), "--json").stdout)
    assert (shown["outcome"], shown["plan"]) == (outcome, None)
    assert shown["findings"]


def test_a_provider_that_refuses_parks_the_run_with_an_exit_code_and_advice(replan, problem, scripted):
    script = {"g_plan": [{"fault": "auth", "message": "no such key"}]}
    result = replan("run", problem, "-m", scripted(script), "-w", "single")
    assert result.exit_code == 4
    assert result.stdout.startswith("Parked\nauth: no such key\n")
    run = run_id(replan)
    assert f"`replan resume {run}`" in " ".join(result.stdout.split())
    shown = json.loads(replan("show", run, "--json").stdout)
    assert (shown["status"], shown["why"]) == ("parked", "auth: no such key")
    assert "parked" in replan("runs").stdout
    assert replan("resume", run).exit_code == 4


def test_a_failure_keeps_the_best_validated_path(replan, problem, scripted):
    script, flags, _ = ENDINGS["backtrack_ceiling"]
    shown = json.loads(replan("run", problem, "-m", scripted(script), *flags, "--json").stdout)
    assert [step["value"] for step in shown["path"]] == [ANALYSIS]
    assert shown["findings"][0]["code"] == "plan.precondition_unsatisfied"


@pytest.mark.parametrize("limit", [["--max-tokens", "9000"], ["--deadline", "0.5s"]])
def test_tokens_and_time_can_be_limited(replan, problem, scripted, limit):
    model = scripted({"g_plan": [delayed_reply(plan, seconds=0.2, tokens=4000) for plan in distinct(LOST, 9)]})
    result = replan("run", problem, "-m", model, "-w", "single", *limit, "--json")
    assert result.exit_code == 5
    assert json.loads(result.stdout)["outcome"] == "budget_exhausted"
    assert limit[0] in replan("show", json.loads(result.stdout)["run_id"]).stdout


def test_a_token_limit_below_one_call_is_explained(replan, problem):
    result = replan("run", problem, "-m", "template:bug", "--max-tokens", "100")
    assert result.exit_code == 5
    assert "even the first call may exceed this limit; `replan resume" in " ".join(result.stdout.split())


def test_a_built_in_guard_that_raises_rejects_the_reply_with_its_traceback_in_the_log(
    replan, home, problem, scripted, monkeypatch
):

    def broken(_artifact, _context):
        raise ZeroDivisionError("the guard is wrong")

    monkeypatch.setitem(BUILT_IN, "plan_medium", lambda _: broken)
    model = scripted({"g_plan": [PLAN] * 40})
    result = replan("run", problem, "-m", model, "-w", "single", "--max-calls", "2", "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["outcome"]) == (5, "budget_exhausted")
    assert [finding["code"] for finding in shown["findings"]] == ["reply.unread"]
    assert "ZeroDivisionError" in shown["findings"][0]["message"]
    log = home / "log.jsonl"
    assert log.stat().st_mode & 0o777 == 0o600
    assert "ZeroDivisionError" in log.read_text()
    assert "the guard is wrong" in log.read_text()


@pytest.mark.parametrize("kind", [ZeroDivisionError, BrokenPipeError])
def test_an_internal_error_is_one_line_with_its_traceback_in_the_log(replan, home, problem, monkeypatch, kind):

    def broken(*_):
        raise kind("somewhere deep")

    home.mkdir(mode=0o700)
    monkeypatch.setattr("actors.planning.prepare.title_of", broken)
    result = replan("run", problem, "-m", "template:bug")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"replan: internal error: {kind.__name__}: somewhere deep (details in ")
    assert result.stderr.count("\n") == 1
    assert "somewhere deep" in (home / "log.jsonl").read_text()
    assert "Traceback" in replan("run", problem, "-m", "template:bug", "--debug").stderr


def test_logs_go_to_stderr_when_asked_for(replan, home, problem, scripted):
    model = scripted({"g_plan": [PLAN]})
    result = replan("run", problem, "-m", model, "-w", "single", "--log-json", "--json")
    kinds = [json.loads(row)["event"] for row in result.stderr.splitlines()]
    assert kinds[0] == "run_started"
    assert kinds[-1] == "run_finished"
    assert json.loads(result.stdout)["outcome"] == "success"
    assert not (home / "log.jsonl").exists()


def test_a_large_log_is_rotated(replan, home, problem):
    home.mkdir(mode=0o700)
    (home / "log.jsonl").write_text("x" * (5 * 1024 * 1024 + 1))
    assert replan("run", problem, "-m", "template:bug").exit_code == 0
    assert (home / "log.jsonl.1").stat().st_size > 5 * 1024 * 1024
    assert (home / "log.jsonl").stat().st_size < 1024 * 1024


def test_text_from_a_model_cannot_reach_the_terminal_as_control_sequences(replan, problem, scripted):
    forged = {**PLAN, "goal": "\x1b]0;owned\x07\x1b[2Jdone\u202e", "steps": [dict(step) for step in PLAN["steps"]]}
    forged["steps"][0]["name"] = "a\x1b[31mb\rc\nreplan: forged"
    result = replan("run", problem, "-m", scripted({"g_plan": [forged]}), "-w", "single")
    assert result.exit_code == 0
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(result.stdout + result.stderr)
    assert "\nreplan: forged" not in result.stdout


def use_server(monkeypatch, url, key="sk-test-key"):
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", key)


def test_a_server_that_cannot_be_reached_is_exit_4_after_the_patience(replan, problem, monkeypatch):
    monkeypatch.setattr(outage, "BACKOFF_FIRST", 0.001)
    use_server(monkeypatch, "http://127.0.0.1:9/v1")
    result = replan("run", problem, "-m", "gpt-test", "-w", "single", "--patience", "3s", "--json")
    assert result.exit_code == 4
    told = " ".join(result.stderr.split())
    assert "the provider is down (refused_connection: no connection" in told
    assert "Is its server running? `replan doctor --online` checks this." in told
    result = replan("resume", "--last", "--patience", "0.001s")
    assert result.exit_code == 4
    assert "start the server" in result.stdout
    assert "sk-test-key" not in result.stdout + result.stderr


def test_a_real_client_plans_over_the_wire(replan, problem, monkeypatch):
    with serve(lambda _b, _h, _n: Answer.value(PLAN)) as server:
        use_server(monkeypatch, server.base_url)
        result = replan("run", problem, "-m", "gpt-test", "-w", "single", "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["calls"], shown["tokens"]) == (0, 1, 15)
    assert shown["cost_usd"] is None
    assert server.seen[0].request_id == f"{shown['run_id']}/g_plan/v1.a1"


def test_the_dry_run_prints_calls_and_cost(replan, problem, monkeypatch):
    use_server(monkeypatch, "https://api.openai.com/v1")
    shown = json.loads(replan("run", problem, "-m", "gpt-5-mini", "--dry-run", "--json").stdout)
    assert (shown["calls_happy"], shown["calls_worst"], shown["calls_max"]) == (4, 91, 30)
    assert shown["cost_usd_max"] > 0
    unknown = json.loads(replan("run", problem, "-m", "nobodys-model", "--dry-run", "--json").stdout)
    assert unknown["cost_usd_max"] is None
    capped = replan("run", problem, "-m", "gpt-5-mini", "--dry-run", "--json", "--max-calls", "7", "--max-cost", "0.01")
    assert json.loads(capped.stdout)["calls_max"] == 7
    assert json.loads(capped.stdout)["cost_usd_max"] == 0.01
    linear = json.loads(replan("run", problem, "-m", "template:bug", "-w", "linear", "--dry-run", "--json").stdout)
    assert linear["calls_worst"] == 4


async def raised(signals, *numbers, elsewhere=False):
    """Raise signals one after the other, and return the notes."""
    notes = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(signals.watch, notes.append, lambda: elsewhere)
        await trio.testing.wait_all_tasks_blocked()
        for number in numbers:
            signal.raise_signal(number)
            await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    return notes


async def test_the_first_interrupt_waits_for_replies_and_the_second_for_nothing():
    signals = Signals()
    [note] = await raised(signals, signal.SIGINT)
    assert "at most until their time limits" in note
    assert "cancels nothing" in note
    assert (signals.code, signals.stop.requested.is_set(), signals.stop.forced.is_set()) == (130, True, False)
    assert signals.stop.grace is None


async def test_two_interrupts_leave_at_once():
    signals = Signals()
    assert len(await raised(signals, signal.SIGINT, signal.SIGINT)) == 1
    assert signals.stop.forced.is_set()


@pytest.mark.parametrize(
    ("grace", "waits"), [(None, TERMINATED_SECONDS), (0.0, 0.0), (5.0, 5.0), (90.0, TERMINATED_SECONDS)]
)
async def test_a_request_to_end_waits_for_thirty_seconds_at_most(grace, waits):
    signals = Signals(Stop(grace=grace))
    [note] = await raised(signals, signal.SIGTERM)
    assert signals.stop.grace == waits
    assert f"at most {waits:g} s" in note
    assert signals.code is Exit.TERMINATED


async def test_nothing_is_parked_that_another_process_drives():
    signals = Signals()
    assert await raised(signals, signal.SIGINT, elsewhere=True) == []
