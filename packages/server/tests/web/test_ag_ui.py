"""AG-UI: every event fits the published models, and a front end starts, answers, tells and follows a run."""

import json
from contextlib import asynccontextmanager

import trio
from ag_ui.core import Event, EventType, RunAgentInput
from pydantic import TypeAdapter

from packages.server.tests.long.web.test_kinds_on_pages import replan
from packages.server.tests.web.world import served
from replan_server.service.ag_ui_input import MESSAGES_MAX
from tests.cli.samples import PROBLEM

__all__ = ["replan"]

EVENTS = TypeAdapter(Event)


@asynccontextmanager
async def front_end(folder, **extra):
    """Serve a home, and yield a front end for it."""
    async with served(folder, signed_in=False, **extra) as web:
        yield FrontEnd(web)


class FrontEnd:
    """Sends requests as a client of AG-UI does, and checks each event with the models of the protocol."""

    def __init__(self, web, scope="control"):
        self.web, self.headers = web, web.token(scope)

    async def post(self, body, **headers):
        """Return the answer to a request; the body is none of the protocol's in every case."""
        return await self.web.client.post("/api/ag-ui", json=body, headers={**self.headers, **headers})

    async def run(self, thread="t-1", *texts, **fields):
        """Return the events of one request, whose messages are those of the user."""
        messages = [{"id": f"m{number}", "role": "user", "content": text} for number, text in enumerate(texts)]
        wanted = RunAgentInput(thread_id=thread, run_id="r-1", messages=messages, tools=[], context=[], **fields)
        answer = await self.post(wanted.model_dump(by_alias=True, mode="json"))
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "text/event-stream"
        return read_events(answer.text)


def read_events(text):
    """Return the events of a stream, each checked, with nothing that the protocol does not know."""
    events = []
    for line in text.splitlines():
        if line.startswith("data: "):
            event = EVENTS.validate_json(line.removeprefix("data: "))
            assert not event.model_extra, event
            events.append(event)
    return events


def of(events, *kinds):
    return [event for event in events if event.type in kinds]


def balanced(events):
    """Tell whether each step that begins ends once, and no two that are open have one name."""
    opened = set()
    for event in of(events, EventType.STEP_STARTED, EventType.STEP_FINISHED):
        if event.type == EventType.STEP_STARTED:
            if event.step_name in opened:
                return False
            opened.add(event.step_name)
        else:
            if event.step_name not in opened:
                return False
            opened.remove(event.step_name)
    return not opened


def without_states(events):
    """Return events as they are sent, without the states in between, whose number depends on the time."""
    return [event.model_dump() for event in events if event.type != EventType.STATE_SNAPSHOT]


OWN = {"replan": {"model": "asks"}}


async def test_a_front_end_starts_a_run_is_asked_answers_and_gets_the_plan(tmp_path):
    """The answer comes with the request that goes on, and no record is sent twice."""
    async with front_end(tmp_path) as app:
        first = await app.run("t-1", PROBLEM, forwarded_props=OWN)
        assert first[0].type == EventType.RUN_STARTED
        assert (first[0].thread_id, first[0].run_id, first[0].protocol_version) == ("t-1", "r-1", "1.0")
        assert first[-1].type == EventType.RUN_FINISHED
        assert first[-1].outcome.type == "interrupt"
        asked = first[-1].outcome.interrupts[0]
        assert asked.message.strip()
        assert asked.response_schema
        assert balanced(first)
        state = of(first, EventType.STATE_SNAPSHOT)[-1].snapshot
        assert state["status"] == "waiting"
        answers = [{"interruptId": asked.id, "status": "resolved", "payload": "3.12"}]
        second = await app.run("t-1", PROBLEM, forwarded_props=OWN, state=state, resume=answers)
        assert second[-1].outcome.type == "success"
        assert second[-1].result["outcome"] == "success"
        assert second[-1].result["run_id"] == state["run_id"]
        told = of(second, EventType.TEXT_MESSAGE_CONTENT)
        assert "1." in told[-1].delta
        assert balanced(second)
        records = [event.value["seq"] for event in of(first + second, EventType.CUSTOM)]
        assert records == list(range(1, len(records) + 1))
        assert len(await app.web.reader_rows()) == 1


async def test_a_repeated_request_shows_the_same_run_once_more(tmp_path):
    """A front end that was cut off sends it again."""
    async with front_end(tmp_path) as app:
        own = {"replan": {"model": "plans"}}
        first, again = [await app.run("t", PROBLEM, forwarded_props=own) for _ in range(2)]
        assert without_states(first) == without_states(again)
        assert len(await app.web.reader_rows()) == 1


async def test_a_run_that_exists_is_followed_by_its_id_and_told_something(tmp_path):
    """Every message of the user is one to the run, since its problem came another way; each is sent once."""
    async with front_end(tmp_path) as app:
        run = await app.web.start("asks")
        await app.web.settled(run, "waiting")
        for _ in range(2):
            events = await app.run(run, "Only on weekdays.")
            assert events[-1].outcome.type == "interrupt"
        assert [each.text for each in (await app.web.engine.result(run)).messages] == ["Only on weekdays."]


async def test_a_declined_question_and_a_cancelled_run_are_told(tmp_path):
    """A cancelled interrupt is a question without an answer."""
    async with front_end(tmp_path) as app:
        first = await app.run("t", PROBLEM, forwarded_props=OWN)
        asked = first[-1].outcome.interrupts[0].id
        declined = [{"interruptId": asked, "status": "cancelled"}]
        done = await app.run("t", PROBLEM, forwarded_props=OWN, resume=declined)
        assert done[-1].outcome.type == "success"
        run = await app.web.start("asks")
        await app.web.settled(run, "waiting")
        await app.web.engine.cancel(run)
        await app.web.settled(run, "finished")
        assert (await app.run(run))[-1].outcome.type == "cancelled"


async def test_calls_of_tools_are_shown_with_their_arguments_and_results(tmp_path, replan):
    """An execution is followed by its id."""
    done = await replan("execute", "--example", "repair", "--workspace", tmp_path / "repair")
    async with front_end(tmp_path, hosts=False) as app:
        events = await app.run(done["run_id"])
    calls = {event.tool_call_id: event.tool_call_name for event in of(events, EventType.TOOL_CALL_START)}
    assert {event.tool_call_id for event in of(events, EventType.TOOL_CALL_RESULT)} == set(calls)
    assert all(json.loads(event.delta) is not None for event in of(events, EventType.TOOL_CALL_ARGS))
    assert len(calls) >= 3
    assert balanced(events)


async def test_a_run_that_nobody_drives_ends_the_stream_with_the_reason(tmp_path):
    async with front_end(tmp_path, hosts=False) as app:
        events = await app.run("t", PROBLEM, forwarded_props=OWN)
    assert events[-1].type == EventType.RUN_ERROR
    assert "replan host" in events[-1].message


async def test_the_id_of_a_deleted_run_is_the_name_of_a_thread_that_needs_a_problem(tmp_path):
    """As every name of which there is no run."""
    async with front_end(tmp_path, hosts=False) as app:
        run = await app.web.start("asks")
        row = await app.web.engine.journal.row(run)
        await app.web.engine.journal.delete({run: row.last_seq})
        answer = await app.post({"threadId": run, "runId": "r", "messages": []})
        assert answer.status_code == 422
        assert answer.json()["error"]["place"] == "messages"


WRONG_REQUESTS = [
    ({"threadId": ""}, "threadId"),
    ({"threadId": "a b"}, "threadId"),
    ({"messages": []}, "messages"),
    ({"messages": [{"id": "m", "role": "assistant", "content": "Hello."}]}, "messages"),
    ({"messages": [{"id": "m", "role": "user", "content": [{"type": "image"}]}]}, "messages.content"),
    ({"messages": [{"id": "m", "role": "user", "content": ""}]}, "messages"),
    ({"messages": [{"id": "m", "role": "user", "content": "x"}] * (MESSAGES_MAX + 1)}, "messages"),
    ({"forwardedProps": {"replan": {"workflw": "plan"}}}, "forwardedProps.replan.workflw"),
    ({"forwardedProps": {"replan": {"workflow": "../plan"}}}, "workflow"),
    ({"forwardedProps": {"replan": {"max_calls": 0}}}, "forwardedProps.replan.max_calls"),
    ({"forwardedProps": {"replan": 1}}, "forwardedProps.replan"),
    ({"resume": [{"interruptId": "other/q1", "status": "resolved", "payload": "x"}]}, "resume.interruptId"),
    ({"resume": [{"interruptId": "other/q1", "status": "maybe"}]}, "resume.0.status"),
]


async def test_a_wrong_request_is_refused_with_its_place(tmp_path):
    """Nothing of it is carried out."""
    async with front_end(tmp_path, hosts=False) as app:
        for fields, place in WRONG_REQUESTS:
            body = {
                "threadId": "t",
                "runId": "r",
                "messages": [{"id": "m", "role": "user", "content": PROBLEM}],
                **fields,
            }
            answer = await app.post(body)
            assert answer.status_code == 422, answer.text
            assert answer.json()["error"]["place"].startswith(place), answer.text


async def test_a_token_that_may_only_read_starts_nothing(tmp_path):
    async with front_end(tmp_path, hosts=False) as app:
        reader = FrontEnd(app.web, "read")
        answer = await reader.post({"threadId": "t", "runId": "r", "messages": []})
        assert answer.status_code == 403
        assert not await app.web.reader_rows()


async def test_a_client_that_leaves_does_not_stop_the_run(tmp_path):
    async with front_end(tmp_path) as app:
        body = {"threadId": "t", "runId": "r", "forwardedProps": OWN}
        messages = [{"id": "m", "role": "user", "content": PROBLEM}]
        async with app.web.client.stream(
            "POST", "/api/ag-ui", json={**body, "messages": messages}, headers=app.headers
        ) as response:
            assert response.status_code == 200
        [(row, _)] = await app.web.reader_rows()
        assert (await app.web.settled(row.run, "waiting")).status == "waiting"


async def test_no_run_is_started_for_a_stream_that_has_no_place(tmp_path, monkeypatch):
    """Places are taken before the start, so that requests at one time do not all find the last one free."""
    monkeypatch.setattr("replan_server.service.limits.STREAMS_MAX", 2)
    async with front_end(tmp_path, hosts=False) as front, trio.open_nursery() as nursery:
        codes, answered = [], trio.Event()

        async def ask(number):
            wanted = {"threadId": f"t-{number}", "runId": "r", "state": {}, "tools": [], "context": []}
            message = {"id": "m", "role": "user", "content": PROBLEM}
            body = {**wanted, "messages": [message], "forwardedProps": {"model": "asks"}}
            address, headers = "/api/ag-ui", front.headers
            async with front.web.client.stream("POST", address, json=body, headers=headers) as answer:
                codes.append(answer.status_code)
                if len(codes) == 6:
                    answered.set()
                await answered.wait()

        for number in range(6):
            nursery.start_soon(ask, number)
    assert sorted(codes) == [200, 200, 429, 429, 429, 429]
