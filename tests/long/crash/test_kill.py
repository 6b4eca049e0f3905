"""`kill -9` at every labelled point and at random times, then `replan resume`: real processes and a real server.

With a spare call for each call in flight the outcome is the same, otherwise it may be `budget_exhausted`. No recorded
reply is requested again. Spent and unknown calls are at least those that the server received, and within the limit.
"""

import json
import os
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from actors.planning.events import (
    ClassificationRequested,
    GenerationRequested,
    PlanningEvent,
    RequestReissued,
    RunFinished,
)
from actors.planning.result import Result
from actors.run.calls import CallFailed, Replied
from actors.run.ids import call_of
from replan.setup.installation import data_root
from runtime.core.hooks import LABELS
from tests.long.crash.cli_case import Case
from tests.support.answers import Answer, Handler, by_step
from tests.support.artifacts import GOOD, plan
from tests.support.commands import Commands
from tests.support.openai_server import serve

CLASSIFIED = 8
"""Calls with a classifier: two plans fail alike, a model classifies the failure, and the third plan passes."""
HAPPY = 9
"""Calls of the script below: four to a broken plan, a retry that is broken too and causes a replan, and four again."""
BROKEN = [plan(needs_missing_token="licence_granted", plan_id=name) for name in ("first", "second")]
"""Two plans with one mistake that differ in their text, so that the second is not a repeat of the first."""
SCRIPT: dict[str, Any] = {
    **{step: [GOOD[step]] * 40 for step in GOOD},
    "g_plan": [*BROKEN, *[plan()] * 40],
}
RANDOM_KILLS = int(os.environ.get("REPLAN_KILLS", "3"))
"""A soak has more, in two parts (`REPLAN_KILLS_FROM`). It also kills the long run each time a label is reached, and
not only at the first and fourth time. The short run is always killed each time, with a spare call.
"""
LONG = RANDOM_KILLS > 10
PLACES = range(1, 40) if LONG else (1, 4)
SHORT: dict[str, Any] = {"g_plan": ["Here is your plan.", *[plan()] * 40]}
"""A run of one step: its first reply is not a plan, its second is."""
TTL = 0.06
"""Length of the lease in seconds: short, so that it is renewed during a run."""


@pytest.fixture
def case(tmp_path: Path, commands: Commands) -> Iterator[Case]:
    with serve(by_step(SCRIPT)) as server:
        yield Case(tmp_path, commands, server)


def produced(events: list[PlanningEvent]) -> list[str]:
    """Return the calls with a reply in the journal."""
    return [call_of(event.request_id) for event in events if isinstance(event, Replied)]


def called(request: str) -> str:
    """Return the call of a request id as the server sees it: `RUN/STEP/vN.aN[/c][.tN]`."""
    return call_of(request.split("/", 1)[1])


def check(case: Case, replied: list[str], requests: list[str], calls: int) -> Result:
    """Check the journal and the requests after a kill and a resume; return the result."""
    result, sent, nodes = case.result(), case.requested(), produced(case.events())
    new_calls = {called(request) for request in sent[len(requests) :]}
    assert not new_calls & set(replied), "a recorded reply was requested again"
    assert len(nodes) == len(set(nodes))
    assert len(sent) <= result.calls <= calls, "the ledger counts too few calls, or more than the limit"
    case.check_billing()
    return result


def open_calls(events: list[PlanningEvent]) -> int:
    """Return the number of calls open at the end of the journal, which a kill at that time may waste."""
    opened: set[str] = set()
    for event in events:
        match event:
            case GenerationRequested() | ClassificationRequested():
                opened.add(event.request_id)
            case RequestReissued():
                opened = opened - {event.replaces} | {event.again.request_id}
            case Replied() | CallFailed():
                opened.discard(event.request_id)
            case _:
                pass
    return len(opened)


def kill_and_resume(case: Case, calls: int, kill: dict[str, Any], *argv: str) -> tuple[Result, int] | None:
    """Start a run, kill it, resume it, and check it. Returns the result and the number of calls open at the kill.

    Returns None if the run ended before the kill.
    """
    code, _ = case.begin(calls, *argv, kill=kill, ttl=TTL)
    if code >= 0:
        return None
    assert code == -9
    requests, events = case.requested(), case.events()
    if events:
        case.replan("resume", "--last", "--json")
    else:  # Killed before the first record: there is no run, and the user starts again.
        assert kill["label"] in ("claim.after", "append.before")
        assert not case.events_exist()
        case.begin(calls, *argv)
    return check(case, produced(events), requests, calls), open_calls(events)


def test_every_label_is_reached(case):
    code, result = case.begin(30, ttl=TTL)
    assert (code, result["calls"]) == (0, HAPPY)
    assert set(json.loads((case.folder / "count").read_text())) == set(LABELS)


@pytest.mark.parametrize("label", LABELS)
def test_a_kill_each_time_that_a_label_is_reached(label, tmp_path, commands):
    """With a spare call for each open one the outcome is the same; otherwise it may be `budget_exhausted`."""
    for nth in PLACES:
        for spare in (1, 0) if LONG and nth % 3 == 1 else (0,) if nth == 1 else (1,):
            folder = tmp_path / f"{nth}.{spare}"
            folder.mkdir()
            with serve(by_step(SCRIPT)) as server:
                case = Case(folder, commands, server)
                after = kill_and_resume(case, HAPPY + spare, {"label": label, "nth": nth})
            if after is None:
                assert nth > 1
                return
            result, wasted = after
            assert wasted <= 2, "only analysis and recon are ever open together"
            assert result.outcome in ({"success"} if wasted <= spare else {"success", "budget_exhausted"})
            assert result.outcome != "success" or result.plan_json == plan()


@pytest.mark.parametrize("label", LABELS)
def test_a_kill_at_every_label_of_a_short_run(label, tmp_path, commands):
    """After any kill, a rejection and its retry lead to the same plan, with one spare call."""
    for nth in count(1):
        folder = tmp_path / str(nth)
        folder.mkdir()
        with serve(by_step(SHORT)) as server:
            after = kill_and_resume(Case(folder, commands, server), 3, {"label": label, "nth": nth}, "-w", "single")
        if after is None:
            assert nth > 1
            return
        result, wasted = after
        assert (result.outcome, result.plan_json) == ("success", plan())
        assert wasted <= 1


@pytest.mark.parametrize(
    ("label", "nth"),
    [
        ("send.before", 7),
        ("reply.after", 7),
        *((f"append.{side}", nth) for side, nth in (("before", 13), ("after", 13), ("before", 14))),
    ],
)
def test_a_kill_around_a_classification(label, nth, tmp_path, commands):
    """S22: two plans fail alike, so a model classifies the failure, as the seventh call; again after a kill."""
    workflow = tmp_path / "classified.yaml"
    shipped = (data_root() / "docs" / "experiments" / "workflows" / "rules.yaml").read_text()
    workflow.write_text(f"{shipped}\nclassifications_max: 2\n")
    answers = {**SCRIPT, "g_plan": [*BROKEN, {"cause": "own_mistake"}, *[plan()] * 40]}
    with serve(by_cause(answers)) as server:
        case = Case(tmp_path, commands, server)
        code, _ = case.replan(*case.run_command(CLASSIFIED + 1), "-w", str(workflow), kill={"label": label, "nth": nth})
        assert code == -9
        requests, events = case.requested(), case.events()
        assert "g_plan/v2.a" in str(events[-1]), "the kill was not near the classification"
        case.replan("resume", "--last", "--json")
        result = check(case, produced(events), requests, CLASSIFIED + 1)
        kinds = [event.kind for event in case.events()]
    assert (result.outcome, result.plan_json) == ("success", plan())
    assert kinds.count("classification_requested") == kinds.count("failure_classified") == 1


@pytest.mark.parametrize(
    ("label", "nth"),
    [("send.before", 2), ("reply.after", 2), ("reply.after", 3), ("finish.after", 1), ("judge.after", 3)]
    + [("append.after", nth) for nth in (3, 5, 7, 8)],
)
def test_a_kill_during_a_child_run(label, nth, tmp_path, commands):
    """A resume of the parent resumes the child; the result of a finished child is used."""
    workflow = tmp_path / "above.yaml"
    workflow.write_text(
        "name: above\naction_pairs:\n"
        "  g_analysis: {generator: model, guard: analysis_valid}\n"
        '  g_plan: {generator: "workflow:./below.yaml", guard: plan_medium, requires: [g_analysis], child_calls: 3}\n'
    )
    (tmp_path / "below.yaml").write_text(
        "name: below\naction_pairs:\n"
        "  g_strategy: {generator: model, guard: strategy_valid}\n"
        "  c_plan: {generator: model, guard: plan_medium, requires: [g_strategy]}\n"
    )
    with serve(by_step({**SCRIPT, "c_plan": [plan()] * 9})) as server:
        case = Case(tmp_path, commands, server)
        code, _ = case.replan(*case.run_command(9), "-w", str(workflow), kill={"label": label, "nth": nth})
        assert code == -9
        code, result = case.replan("resume", "--last", "--json")
        calls = [called(request) for request in case.requested()]
    assert (code, result["outcome"], result["plan"]) == (0, "success", plan())
    assert len(calls) <= result["calls"] <= 4, "only the one open call is requested again"
    assert next(node for node in result["path"] if node["step"] == "g_plan")["node"] == "g_plan/v1.a1"


def by_cause(script: dict[str, Any]) -> Handler:
    """Return a handler that always classifies a plan with its cause, and answers all other steps in order."""
    cause = next(item for item in script["g_plan"] if "cause" in item)
    others = by_step({**script, "g_plan": [item for item in script["g_plan"] if item is not cause]})
    return lambda body, headers, n: (
        Answer.value(cause) if "/c" in headers["x-client-request-id"] else others(body, headers, n)
    )


@pytest.mark.parametrize("seed", range(int(os.environ.get("REPLAN_KILLS_FROM", "0")), RANDOM_KILLS))
def test_two_kills_at_random_times(seed, tmp_path, commands):
    """The first kill must hit a run in progress: its time is drawn again until it does."""
    rng, slow = (
        random.Random(seed),
        {step: [Answer.value(reply).slowly(0.05) for reply in SCRIPT[step]] for step in SCRIPT},
    )
    calls = HAPPY + 2
    for attempt in range(30):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        with serve(by_step(slow)) as server:
            case = Case(folder, commands, server)
            code, _ = case.begin(calls, kill={"seconds": rng.uniform(0.001, 0.5)})
            events = case.events() if code < 0 else []
            if not events or isinstance(events[-1], RunFinished):
                continue
            wasted, requests, replied = open_calls(events), case.requested(), produced(events)
            code, _ = case.replan("resume", "--last", "--json", kill={"seconds": rng.uniform(0.001, 0.5)})
            if code < 0:
                events = case.events()
                wasted += open_calls(events) if events[-1].kind != "run_finished" else 0
                case.replan("resume", "--last", "--json")
            result = check(case, replied, requests, calls)
            assert result.outcome in ({"success"} if wasted <= 2 else {"success", "budget_exhausted"})
            return
    raise AssertionError("no kill hit a run in progress")
