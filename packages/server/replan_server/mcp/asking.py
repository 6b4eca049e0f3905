"""The tool `wait`: waits for a run, and meanwhile asks the client's user the open questions of the run.

If the client can show forms, it shows each question as a form. A client with an older version of the protocol gets a
form while its call waits. In the version 2026-07-28, the call returns the forms, with state that the server has sealed
against changes. The client makes the call again with the filled forms and the state. Another process may receive this
second call.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, assert_never

import trio
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequest, InputRequiredResult

from actors.run.open_question import question_parts
from actors.values.answers import ANSWER_MAX, answer_form, describe_expected, options_of
from replan.runs.families import ShownRun
from replan.views.errors import line_of_error
from replan_server.mcp.calls import ToolCall
from replan_server.service.arguments import Wait
from replan_server.service.limits import RequestRefused
from replan_server.service.messages import answer_question
from replan_server.service.read_operations import open_questions, state_of
from replan_server.service.service import wait_for_rest
from runtime.core.errors import JournalError, UsageProblem
from runtime.logs.terminal_text import clean

FIELD = "answer"
"""The name of the field for the answer. A form has no other field."""
TEXT_MAX = 4_000
"""The largest number of characters of a question that a form shows. The tool `questions` returns the whole question."""


def is_shown(question: Mapping[str, Any]) -> bool:
    """Return whether a form can ask a question: programs may answer it, and its answer is not a JSON structure."""
    return not question.get("people_only") and answer_form(question["answer_schema"]) != "json"


def _message_of(question: Mapping[str, Any], trouble: str = "") -> str:
    """Return the text above the field of a form.

    `trouble` says why the previous answer was refused; it is empty if none was refused.
    """
    text = clean("\n".join(part for part, _ in question_parts(question)))
    shown = text if len(text) <= TEXT_MAX else f"{text[:TEXT_MAX]}…"
    note = f"The run {question['run_id']} asks this question. If you decline, the run gets no answer."
    return "\n\n".join(filter(None, (f"The last answer does not fit: {trouble}" if trouble else "", shown, note)))


def _schema_of(question: Mapping[str, Any]) -> dict[str, Any]:
    schema = question["answer_schema"]
    form = answer_form(schema)
    field: dict[str, Any] = {"title": "Answer"}
    match form:
        case "choice":
            field |= {"type": "string", "enum": options_of(schema)}
        case "yes_no":
            field |= {"type": "boolean"}
        case "number":
            field |= {"type": "integer" if schema.get("type") == "integer" else "number"}
        case "text" | "formatted" | "json":
            field |= {"type": "string", "maxLength": ANSWER_MAX, "description": clean(describe_expected(schema))}
        case _:
            assert_never(form)
    return {"type": "object", "properties": {FIELD: field}, "required": [FIELD]}


def form_of(question: Mapping[str, Any], trouble: str = "") -> ElicitRequest:
    """Return the request that makes the client show a form to its user."""
    params = ElicitRequestFormParams(message=_message_of(question, trouble), requested_schema=_schema_of(question))
    return ElicitRequest(params=params)


def answer_of(filled: ElicitResult) -> str | None:
    """Return the answer in a form as text; None if the user declined. Raises `UsageProblem` for an empty form."""
    if filled.action == "decline":
        return None
    value = (filled.content or {}).get(FIELD)
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case int() | float():
            return json.dumps(value)
        case _:
            raise UsageProblem("the form has no answer", place=FIELD)


FORMS_MAX = 5
"""The largest number of questions that one call of `wait` asks at a time."""
FORM_SECONDS = 600.0
"""How many seconds a call waits until the user has filled in a form. Only clients of an older protocol version show
forms during a call."""
TRIES_MAX = 3
"""How many times a call shows the form of a question at most, if no answer fits the question."""
STEP_SECONDS = 10.0
"""How many seconds pass between two notifications to the client that its call is still waiting for the user."""


async def wait(call: ToolCall, wanted: Wait) -> Mapping[str, Any] | InputRequiredResult:
    """Wait at most `wanted.seconds` until a run rests (`is_at_rest`), and return the run's state.

    If the client can show forms, ask the open questions of the run, or return their forms.
    """
    with call.desk.waits.take(call.who.client):
        troubles = await _post_answers(call, wanted.id)
        end = trio.current_time() + wanted.seconds
        while True:
            shown = await _wait_for_rest(call, wanted.id, end)
            questions = await open_questions(call.request(), wanted.id)
            to_ask = [
                question for question in questions if is_shown(question) and troubles.get(name_of(question)) != ""
            ][:FORMS_MAX]
            if not to_ask or not call.can_ask:
                return state_of(shown, questions)
            if call.modern:
                return _forms_of_round(wanted.id, to_ask, troubles)
            if not await _ask(call, to_ask[0]):
                return state_of(shown, await open_questions(call.request(), wanted.id))


async def _wait_for_rest(call: ToolCall, run: str, end: float) -> ShownRun:
    async def report(shown: ShownRun) -> None:
        text = f"{shown.status}, {shown.result.calls} model calls"
        await call.progress(float(shown.row.last_seq), text)

    return await wait_for_rest(call.desk, run, max(0.0, end - trio.current_time()), report)


def name_of(question: Mapping[str, Any]) -> str:
    """Return the name of a question. The name is unique among all questions of the run."""
    return str(question["id"]).rpartition("/")[2]


def _forms_of_round(run: str, asked: list[dict[str, Any]], told: Mapping[str, str]) -> InputRequiredResult:
    """Return the forms for the questions `asked`.

    `told` maps names of questions to the reasons why their previous answers were refused.
    """
    forms: dict[str, InputRequest] = {name_of(item): form_of(item, told.get(name_of(item), "")) for item in asked}
    return InputRequiredResult(request_state=json.dumps({"run": run, "asked": list(forms)}), input_requests=forms)


async def _post_answers(call: ToolCall, run: str) -> dict[str, str]:
    """Post the answers in the forms that the client has sent back.

    Return why some of the questions still have no answer. The keys are the names of these questions. A value is empty
    if the user closed the form.
    """
    if call.state is None:
        return {}
    call.desk.check_scope(call.who, "answer")
    asked_names = json.loads(call.state)
    troubles: dict[str, str] = {}
    for name, filled in call.answers.items():
        if asked_names["run"] != run or name not in asked_names["asked"]:
            raise UsageProblem("an answer is for a question that was not asked", place="inputResponses")
        if filled.action == "cancel":
            troubles[name] = ""
            continue
        try:
            await answer_question(call.desk, f"{run}/{name}", answer_of(filled), via="mcp")
        except UsageProblem as problem:
            troubles[name] = problem.cause
        except RequestRefused:
            continue  # Somebody else answered first, and the run goes on with that answer.
    return troubles


async def _ask(call: ToolCall, question: Mapping[str, Any]) -> bool:
    """Ask a question of a client that gets forms during the call. Return whether the question is closed now."""
    trouble = ""
    for _ in range(TRIES_MAX):
        filled = await _show_form(call, question, trouble)
        if filled is None or filled.action == "cancel":
            return filled is None and await _is_closed(call, question)
        try:
            await answer_question(call.desk, str(question["id"]), answer_of(filled), via="mcp")
        except UsageProblem as problem:
            if await _is_closed(call, question):
                return True
            trouble = line_of_error(problem)
        except RequestRefused:
            return True
        else:
            return True
    return False


async def _show_form(call: ToolCall, question: Mapping[str, Any], trouble: str) -> Any:
    """Show a form, and return the client's reply. Return None if there is none, for example after `FORM_SECONDS`."""
    filled = None
    with trio.move_on_after(FORM_SECONDS):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_until_closed, call, question, nursery.cancel_scope)
            with suppress(MCPError):  # The client cannot show it after all: the question stays open.
                filled = await call.context.session.elicit_form(
                    _message_of(question, trouble), _schema_of(question), related_request_id=call.context.request_id
                )
            nursery.cancel_scope.cancel()
    return filled


async def _until_closed(call: ToolCall, question: Mapping[str, Any], scope: trio.CancelScope) -> None:
    """Cancel `scope` when a question is closed or the server stops.

    Until then, keep notifying the client that its call is waiting.
    """
    count = 0
    while not call.desk.stop.is_set():
        try:
            if await _is_closed(call, question):
                break
        except JournalError as error:
            if not error.passing:
                break  # For example, the run was deleted. The next reader of the question says so.
        count += 1
        await call.progress(float(count), "the call waits for your answer")
        with trio.move_on_after(STEP_SECONDS):
            await call.desk.stop.wait()
    scope.cancel()


async def _is_closed(call: ToolCall, question: Mapping[str, Any]) -> bool:
    open_ids = {item["id"] for item in await open_questions(call.request(), str(question["run_id"]))}
    return question["id"] not in open_ids
