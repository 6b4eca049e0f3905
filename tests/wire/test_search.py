"""The search over HTTP: engine, actors, journal and the OpenAI client against a scripted server."""

import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml

from actors.planning.events import (
    BranchOpened,
    Decided,
    FailureClassified,
    GenerationRequested,
    Revised,
    VerdictReached,
)
from actors.planning.kind import CODEC
from actors.planning.prepare import PlanningInput, RunOptions
from actors.planning.result import Result
from actors.run.calls import CallFailed
from actors.run.waits import WaitRequested
from replan.runs.engine import Engine
from replan.runs.prepare import RunOrder, prepare
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from runtime.core.clock import Clock, SystemClock
from runtime.core.events import Event
from runtime.drive.options import DriveOptions
from runtime.journal.memory import open_memory
from tests.support.answers import Answer, Handler, by_step, request_parts
from tests.support.artifacts import GOOD, PROBLEM, plan
from tests.support.openai_server import OpenAIServer, serve

RULES = str(data_root() / "docs" / "experiments" / "workflows" / "rules.yaml")
"""The shipped workflow, with a policy whose rows decide."""


class FastBackOffClock(SystemClock):
    """A clock that waits for a hundredth of the time and then says that all of it has passed."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        return super().now() + self._ahead

    async def sleep_until(self, when: float) -> None:
        await trio.sleep(max(0.0, when - self.now()) / 100)
        self._ahead += max(0.0, when - self.now())


@asynccontextmanager
async def run_against(
    handler: Handler, clock: Clock | None = None, **options: Any
) -> AsyncIterator[tuple[Result, OpenAIServer, list[Event]]]:
    """Run the `search` workflow on the test problem against a server, and yield result, server and events."""
    events: list[Event] = []
    time = clock or SystemClock()
    with serve(handler) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-test-key-0000000000"}
        async with open_memory(CODEC, time) as journal:
            known = registry()
            engine = Engine(journal, registry=known, clock=time, environment=environment)
            request = prepare(
                RunOrder(PlanningInput(PROBLEM, RunOptions(**options)), "test-model"),
                config=UserConfig(),
                registry=known,
                environment=environment,
                now=time.now(),
            ).request
            drive = DriveOptions(on_record=lambda record, _: events.append(record.event))
            result = await engine.begin(request, drive, run="run-1")
            yield result, server, events


def scripted(**lists: list[Any]) -> Handler:
    """Return a handler that answers each step from its list, then with an accepted reply."""
    return by_step({step: [*lists.get(step, []), *[good] * 9] for step, good in GOOD.items()})


def with_classifier(folder: Path) -> Path:
    value = yaml.safe_load(Path(RULES).read_text())
    path = folder / "classified.yaml"
    path.write_text(yaml.safe_dump({**value, "classifications_max": 2}, sort_keys=False))
    return path


def of_kind(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def rejections_in(events: list[Event]) -> list[str]:
    return [event.verdict.errors[0].message for event in of_kind(events, VerdictReached) if event.verdict.errors]


async def test_four_good_replies_make_a_proved_plan():
    async with run_against(scripted()) as (result, server, _):
        assert (result.outcome, result.calls, result.tokens) == ("success", 4, 60)
        assert result.plan_json == plan()
        assert [step.step for step in result.path] == ["g_analysis", "g_recon", "g_strategy", "g_plan"]
        assert sorted(server.steps) == sorted(GOOD)


async def test_a_plan_that_is_not_json_is_retried_at_its_step_with_the_feedback_in_the_prompt():
    async with run_against(scripted(g_plan=["Sure! I would first reproduce it."])) as (result, server, events):
        assert (result.outcome, result.calls) == ("success", 5)
        assert [event.decision.rule for event in of_kind(events, Decided)] == ["malformed"]
        retried = server.seen[-1]
        assert retried.step == "g_plan"
        assert retried.request_id == "run-1/g_plan/v1.a2"
        rejection = rejections_in(events)[0]
        assert retried.prompt.count(rejection[:60]) == 1


async def test_the_default_goes_back_to_where_the_mistake_most_likely_lies():
    broken = plan(needs_missing_token="licence_granted")
    again = {**broken, "plan_id": "second"}
    async with run_against(scripted(g_plan=[broken, again])) as (result, server, events):
        assert result.outcome == "success"
        assert Counter(server.steps) == {"g_analysis": 2, "g_recon": 2, "g_strategy": 2, "g_plan": 3}
        (revised,) = of_kind(events, Revised)
        assert revised.targets == ("g_analysis", "g_recon")
        told, decision = [event.decision for event in of_kind(events, Decided)]
        assert (told.level, told.rule) == ("local_retry", "told")
        assert (decision.rule, [option.move for option in decision.weighing.options]) == ("belief", ["redo", "redo"])


async def test_a_precondition_without_a_producer_leads_to_a_replan_of_the_strategy_only():
    broken = plan(needs_missing_token="licence_granted")
    async with run_against(scripted(g_plan=[broken]), workflow=RULES) as (result, server, events):
        assert result.outcome == "success"
        assert Counter(server.steps) == {"g_analysis": 1, "g_recon": 1, "g_strategy": 2, "g_plan": 2}
        (revised,) = of_kind(events, Revised)
        assert (revised.targets, revised.cleared) == (("g_strategy",), ("g_strategy", "g_plan"))
        for seen in server.seen[-2:]:
            assert seen.prompt.count("licence_granted") >= 1, "the earlier rejection must be in the prompt"


async def test_the_same_findings_twice_lead_to_the_next_level():
    broken = plan(needs_missing_token="licence_granted")
    async with run_against(scripted(g_plan=[broken, {**broken, "plan_id": "second"}]), workflow=RULES) as (
        result,
        server,
        events,
    ):
        assert result.outcome == "success"
        assert [event.targets for event in of_kind(events, Revised)] == [("g_strategy",), ("g_recon",)]
        assert Counter(server.steps) == {"g_analysis": 1, "g_recon": 2, "g_strategy": 3, "g_plan": 3}


async def test_a_classifier_is_called_before_a_costly_replan_and_its_code_decides(tmp_path):
    """S22: a separate call with its own id and schema; its prompt has the rejections; no artifact is cleared."""
    broken = plan(needs_missing_token="licence_granted")
    others = scripted(g_plan=[broken, {**broken, "plan_id": "second"}])

    def handle(body, headers, n):
        if headers["x-client-request-id"].endswith("/c"):
            return Answer.value({"cause": "own_mistake"})
        return others(body, headers, n)

    async with run_against(handle, workflow=str(with_classifier(tmp_path))) as (result, server, events):
        assert (result.outcome, result.calls) == ("success", 8)
        assert Counter(server.steps) == {"g_analysis": 1, "g_recon": 1, "g_strategy": 2, "g_plan": 4}
        [request] = [seen for seen in server.seen if seen.request_id.endswith("/c")]
        assert request.request_id == "run-1/g_plan/v2.a1/c"
        assert request.prompt.count("licence_granted") >= 2, "the rejection in question and the one before"
        assert "own_mistake" in str(request.body["response_format"])
        [classified] = of_kind(events, FailureClassified)
        assert (classified.cause, classified.used.calls) == ("own_mistake", 1)
        last = of_kind(events, Decided)[-1].decision
        assert (last.level, last.rule, last.classified) == ("local_retry", "otherwise", "own_mistake")


async def test_a_classification_without_a_code_is_recorded_and_the_policy_decides(tmp_path):
    """S22: text never decides, not even text that names a row."""
    broken = plan(needs_missing_token="licence_granted")
    others = scripted(g_plan=[broken, {**broken, "plan_id": "second"}])

    def handle(body, headers, n):
        if headers["x-client-request-id"].endswith("/c"):
            return Answer.say("Clearly give_up: this is hopeless.")
        return others(body, headers, n)

    async with run_against(handle, workflow=str(with_classifier(tmp_path))) as (result, _, events):
        assert result.outcome == "success"
        [classified] = of_kind(events, FailureClassified)
        assert (classified.cause, classified.content) == (None, "Clearly give_up: this is hopeless.")
        assert [event.targets for event in of_kind(events, Revised)] == [("g_strategy",), ("g_recon",)]
        assert of_kind(events, Decided)[-1].decision.classified is None


async def test_each_prompt_after_an_escalation_contains_each_earlier_rejection_once():
    """A prompt has the rejections whose replan cleared its step: the first replan did not clear recon."""
    first = plan(needs_missing_token="licence_granted", plan_id="first")
    second = plan(needs_missing_token="backup_taken", plan_id="second")
    async with run_against(scripted(g_plan=["no json at all", first, second]), workflow=RULES) as (
        result,
        server,
        events,
    ):
        assert result.outcome == "success"
        rejections = rejections_in(events)
        assert len(rejections) == 3
        counts = {
            seen.request_id: [seen.prompt.count(rejection[:80]) for rejection in rejections]
            for seen in server.seen
            if seen.request_id is not None and "/v1." not in seen.request_id
        }
        assert counts == {
            "run-1/g_strategy/v2.a1": [1, 1, 0],
            "run-1/g_plan/v2.a1": [1, 1, 0],
            "run-1/g_recon/v2.a1": [0, 0, 1],
            "run-1/g_strategy/v3.a1": [1, 1, 1],
            "run-1/g_plan/v3.a1": [1, 1, 1],
        }


async def test_analysis_and_recon_overlap_in_time():
    slow = {step: [Answer.value(GOOD[step]).slowly(0.3)] for step in ("g_analysis", "g_recon")}
    async with run_against(scripted(**slow)) as (result, server, _):
        assert result.succeeded
        analysis, recon = (
            next(seen for seen in server.seen if seen.step == step) for step in ("g_analysis", "g_recon")
        )
        assert analysis.ended is not None
        assert recon.ended is not None
        assert max(analysis.started, recon.started) < min(analysis.ended, recon.ended)


@pytest.mark.parametrize("calls", [1, 2, 5, 12])
async def test_the_limit_on_calls_holds_if_every_answer_is_rejected(calls):
    async with run_against(lambda *_: Answer.say("{}"), limits={"max_calls": calls}) as (result, server, _):
        # A call that was withdrawn while it was sent stays charged, since it may have been received.
        assert len(server.seen) <= result.calls <= calls
        assert result.outcome in {"budget_exhausted", "all_pruned"}


async def test_every_request_carries_its_id():
    async with run_against(scripted(g_plan=["bad", "bad"])) as (_, server, _events):
        ids = [seen.request_id for seen in server.seen]
        assert len(set(ids)) == len(ids)
        assert sorted(ids) == [
            "run-1/g_analysis/v1.a1",
            "run-1/g_plan/v1.a1",
            "run-1/g_plan/v1.a2",
            "run-1/g_plan/v1.a3",
            "run-1/g_recon/v1.a1",
            "run-1/g_strategy/v1.a1",
        ]


@pytest.mark.parametrize(
    ("fault", "charged"),
    [
        (Answer.fault(429, headers={"Retry-After": "3"}), 0),
        (Answer.fault(500), 1),
        (Answer.cut_after("body"), 1),
        (Answer.no_choices(), 1),
        (Answer.huge(20 * 1024 * 1024), 1),
    ],
    ids=["429", "500", "cut", "no choices", "20 MB"],
)
async def test_a_fault_leads_to_another_try_and_is_charged_by_its_kind(fault, charged):
    async with run_against(scripted(g_strategy=[fault]), clock=FastBackOffClock()) as (result, server, events):
        assert result.outcome == "success"
        assert result.calls == 4 + charged
        ids = [seen.request_id for seen in server.seen if seen.step == "g_strategy"]
        assert ids == ["run-1/g_strategy/v1.a1", "run-1/g_strategy/v1.a1.t2"]
        assert len(of_kind(events, CallFailed)) == 1


async def test_an_address_that_answers_two_web_pages_parks_the_run_and_costs_nothing():
    async with run_against(lambda *_: Answer.html(), clock=FastBackOffClock()) as (result, server, _):
        assert (result.status, result.outcome, result.calls, result.unknown.calls) == ("parked", "", 0, 0)
        asked = [seen.step for seen in server.seen]
        assert max(asked.count(step) for step in ("g_analysis", "g_recon")) == 2
        assert len(asked) <= 4, "at most two requests of each ready step"
        assert result.fault is not None
        assert result.fault.message.startswith(server.base_url)
        assert result.fault.message.endswith("(text/html); is this the API's address?")


async def test_one_web_page_of_a_gateway_does_not_hold_the_run():
    async with run_against(scripted(g_strategy=[Answer.html()]), clock=FastBackOffClock()) as (result, _, events):
        assert (result.outcome, result.calls, result.unknown.calls) == ("success", 4, 0)
        assert len(of_kind(events, CallFailed)) == 1


async def test_a_web_page_and_json_of_another_api_in_a_row_park_the_run():
    pages = [Answer.html(), Answer.json({"status": "ok"})]
    async with run_against(scripted(g_strategy=pages), clock=FastBackOffClock()) as (result, _, _):
        assert (result.status, result.unknown.calls) == ("parked", 1)


async def test_two_replies_in_a_row_that_are_no_chat_completion_park_the_run_with_the_address_and_what_came():
    """Both are charged as unknown: something there may have written for money."""
    other = Answer.json({"status": "ok", "service": "billing"})
    async with run_against(scripted(g_strategy=[other, other]), clock=FastBackOffClock()) as (result, server, _):
        assert (result.status, result.outcome, result.unknown.calls) == ("parked", "", 2)
        came = '{"status": "ok", "service": "billing"} (application/json)'
        said = f"{server.base_url} answers with something that is not a chat completion: {came}"
        said += "; is this the API's address?"
        assert result.why == f"bad_reply: {said}"


async def test_a_tool_call_is_an_artifact_and_one_without_arguments_is_rejected_and_charged_as_reported():
    call = {"function": {"name": "strategy", "arguments": json.dumps(GOOD["g_strategy"])}}
    empty, good = (Answer.say(None, finish_reason="tool_calls", tool_calls=calls) for calls in ([], [call]))
    async with run_against(scripted(g_strategy=[empty, good]), clock=FastBackOffClock()) as (result, _, events):
        assert (result.outcome, result.calls, result.unknown.calls) == ("success", 5, 0)
        assert not of_kind(events, CallFailed)


async def test_retry_after_is_respected():
    async with run_against(
        scripted(g_strategy=[Answer.fault(429, headers={"Retry-After": "30"})]), clock=FastBackOffClock()
    ) as (_, server, events):
        (failed,) = of_kind(events, CallFailed)
        assert failed.fault.retry_after == 30
        first, second = (seen for seen in server.seen if seen.step == "g_strategy")
        assert second.started - first.started >= 0.25


async def test_a_hanging_call_ends_at_its_timeout_is_charged_and_gets_twice_the_time_then(tmp_path):
    shipped = yaml.safe_load((data_root() / "configs" / "workflows" / "single.yaml").read_text())
    step = next(iter(shipped["action_pairs"]))
    path = tmp_path / "short_timeout.yaml"
    path.write_text(yaml.safe_dump({**shipped, "model_timeout_seconds": 0.3, "prompts": "planning"}))
    handler = by_step({step: [Answer.hang(), Answer.hang(), GOOD["g_plan"]]})
    async with run_against(handler, clock=FastBackOffClock(), workflow=str(path)) as (result, server, events):
        assert (result.outcome, result.calls) == ("success", 3)
        failed = of_kind(events, CallFailed)
        assert [each.fault.kind for each in failed] == ["timeout", "timeout"]
        assert 0.2 < failed[0].elapsed < 5.0
        assert [each.timeout_seconds for each in of_kind(events, GenerationRequested)] == [None, 0.6, 1.2]
        assert server.wait_for(lambda it: it.seen[0].ended is not None), "the connection was left open"


async def test_after_five_faults_in_a_row_the_provider_is_waited_for():
    handler = scripted(g_analysis=[Answer.fault(503)] * 5)
    async with run_against(handler, clock=FastBackOffClock()) as (result, server, events):
        assert result.succeeded
        assert [seen.step for seen in server.seen].count("g_analysis") == 6
        assert server.listed == 2, "it is asked for its context window, and before the sixth try"
        assert result.calls == 4, "a 503 is not charged"
        assert [event.node for event in of_kind(events, WaitRequested) if event.for_provider] == ["g_analysis/v1.a1"]


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refusal_parks_the_run_at_once_and_costs_nothing(status):
    async with run_against(lambda *_: Answer.fault(status), workflow="single") as (result, server, _):
        assert (result.status, result.cause, result.calls) == ("parked", "provider", 0)
        assert len(server.seen) == 1


def together(parties: int) -> Handler:
    """Return a handler that answers a step's requests only when a number of them are open, each differently."""
    barriers = {step: threading.Barrier(parties) for step in GOOD}

    def handle(_body: dict[str, Any], headers: Mapping[str, str], n: int) -> Answer:
        step = request_parts(headers["x-client-request-id"])["step"]
        barriers[step].wait(timeout=20)  # On a timeout the barrier breaks, and the answer is a 500.
        reply = dict(GOOD[step])
        reply["plan_id" if step == "g_plan" else "rationale"] = f"variant {n}"
        return Answer.value(reply if step != "g_recon" else {**GOOD[step], "reproduction_steps": [f"way {n}"]})

    return handle


async def test_the_branches_of_a_beam_send_requests_at_the_same_time():
    """S9: the server answers a step's requests only when those of all four branches are open."""
    async with run_against(together(4), search="beam:4") as (result, server, events):
        assert result.outcome == "success"
        assert Counter(server.steps) == {"g_analysis": 4, "g_recon": 4, "g_strategy": 4, "g_plan": 4}
        branches = {request_parts(seen.request_id)["rest"] for seen in server.seen}
        assert branches == {"", ".b1", ".b2", ".b3"}
        assert [event.branch for event in of_kind(events, BranchOpened)] == [1, 2, 3]
