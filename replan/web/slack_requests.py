"""Handles the requests that Slack sends when somebody presses a button of a message.

Slack's signature is verified before anything else is read. An answer is posted to the run before the request is
acknowledged. The result is sent to the request's `response_url`, and only the person sees it. A button never gives an
approval: the person gets a link to the page, and confirms the approval there.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import trio
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from replan.runs.inbox import check_receipt
from replan.service.access import Principal
from replan.views.errors import line_of_error
from replan.web.linked_questions import UNCHANGED, open_question
from replan.web.site import Site
from replan.webhooks.answer_links import AnswerLink, LinkRefused
from replan.webhooks.messages import answer_address
from replan.webhooks.slack_buttons import SlackPayload, is_signed, person_of, read_button, read_payload, slack_reply
from runtime.core.errors import ReplanError, UsageProblem
from runtime.logs import log

BODY_MAX = 128 * 1024
"""The most bytes of a request; a payload repeats the message, which is much shorter."""
ANSWER_SECONDS = 2.5
"""The time limit for posting an answer; Slack waits for 3 seconds."""
REPLY_SECONDS = 10.0
"""The time limit for sending the reply to the person."""


@dataclass(frozen=True, slots=True)
class ClickReply:
    """The reply to the person who pressed a button."""

    text: str
    """Its text, in sentences."""
    address: str = ""
    """The address of a page to open; empty for none."""


async def answer_slack(site: Site, request: Request) -> Response:
    """Handle a request about a button that somebody pressed; one that Slack has not signed is refused with 403."""
    body = await _body(request)
    slack = None if site.answering is None else site.answering.slack
    if slack is None:
        return _plain(403, "no Slack app is set in config.yaml")
    stamp, signature = (request.headers.getlist(f"x-slack-{name}") for name in ("request-timestamp", "signature"))
    if len(stamp) != 1 or len(signature) != 1 or not is_signed(slack, stamp[0], signature[0], body, site.now()):
        return _plain(403, "the signature of this request is wrong, or older than five minutes")
    payload = _payload(body)
    if payload is None or payload.type != "block_actions":
        return _plain(400, "not a block_actions payload")
    with trio.move_on_after(ANSWER_SECONDS):
        reply = await _reply(site, payload)
        tell = None if reply is None else BackgroundTask(_tell, site, payload.response_url, reply)
        return Response(status_code=200, background=tell)
    return _plain(503, "the answer may not have been taken; press the button again")


async def _body(request: Request) -> bytes:
    """Return the body. Raises `HTTPException` for one that is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY_MAX:
            raise HTTPException(413, f"a body has at most {BODY_MAX:,} bytes")
    return body


def _payload(body: bytes) -> SlackPayload | None:
    """Return the payload in a form; None where the form does not have exactly one valid payload."""
    try:
        fields = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=10, errors="strict")
    except ValueError:
        return None
    texts = [value for name, value in fields if name == "payload"]
    return read_payload(texts[0]) if len(fields) == len(texts) == 1 else None


async def _reply(site: Site, payload: SlackPayload) -> ClickReply | None:
    """Carry out the action of a button, and return the reply to the person; None for one that only opens an address."""
    values = [action.value for action in payload.actions if action.type == "button" and action.value]
    if not values:
        return None
    try:
        return await _press(site, payload, values[0])
    except LinkRefused as error:
        text = str(error)
        return ClickReply(f"{text[:1].upper()}{text[1:]}. {UNCHANGED}")
    except HTTPException as error:
        return ClickReply(error.detail)
    except ReplanError as error:
        return ClickReply(line_of_error(error))


async def _press(site: Site, payload: SlackPayload, value: str) -> ClickReply:
    """Post the answer of a button, or return a reply with a link to the page.

    Raises `HTTPException` where the question is not open, `LinkRefused` where this person may not answer it through
    this button, and other `ReplanError`s.
    """
    answering = site.answering
    assert answering is not None
    assert answering.slack is not None
    name, person = person_of(answering, answering.slack, payload)
    button = read_button(answering, value, site.now())
    webhook = site.engine.webhooks.get(button.webhook)
    if webhook is None or webhook.page is None or button.webhook not in person.webhooks:
        raise LinkRefused(f"{name} may not answer this question")
    link = AnswerLink(name, button.question, button.until, "slack")
    question = await open_question(site, link)
    if button.answer is None or question.get("people_only"):
        text = "The answer is given on this page. The link is for you alone, and for one answer."
        return ClickReply(text, answer_address(answering, webhook.page, link))
    site.count_write(Principal(f"slack:{name}", "answer"))
    try:
        receipt = await site.engine.answer(button.question, button.answer, via="slack", person=name)
        check_receipt(receipt, button.question)
    except UsageProblem as error:
        return ClickReply(f"{line_of_error(error)} {UNCHANGED}")
    if receipt.result == "duplicate":
        return ClickReply(f"The same answer was given before. {UNCHANGED}")
    return ClickReply(f"Your answer is recorded: {button.answer}")


async def _tell(site: Site, address: str, reply: ClickReply) -> None:
    """Send a reply to the `response_url` of a request, if a webhook for Slack has the same scheme, host and port."""
    from replan.webhooks.http_channel import open_client  # noqa: PLC0415 -- 0.1 s, for a click

    entries = [each for each in site.engine.webhooks.values() if each.format == "slack"]
    entry = next((each for each in entries if _origin(each.url) == _origin(address)), None)
    if entry is None:
        log.get_logger("slack").warning("slack.not_told", problem="no address of Slack")
        return
    problem = f"no answer in {REPLY_SECONDS:g} s"
    try:
        with trio.move_on_after(REPLY_SECONDS):
            message = slack_reply(reply.text, reply.address)
            async with open_client(entry) as client, client.stream("POST", address, json=message) as response:
                problem = "" if response.status_code // 100 == 2 else f"status {response.status_code}"
    except Exception as error:  # noqa: BLE001 -- the answer counts, also where the reply fails
        problem = type(error).__name__
    if problem:
        log.get_logger("slack").warning("slack.not_told", problem=problem)


def _origin(address: str) -> Any:
    """Return the scheme, the host and the port of an address; None for a text that is not an address."""
    try:
        parts = urlsplit(address)
        origin = (parts.scheme, parts.hostname, parts.port)
    except ValueError:
        return None
    return origin if parts.hostname and "@" not in parts.netloc else None


def _plain(status: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status)
