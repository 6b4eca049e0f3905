"""The pages that need no session: signing in, and answering a question through a signed link.

A signed link takes the place of a session. The link is for one person and one question, and it is verified at each
request. Opening the link only shows a page with a form. Sending the form posts the answer. Programs must not answer
some questions, such as approvals. For these questions, a second page asks for confirmation of the answer.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from actors.run.questions import WAYS, Question, Status
from actors.run.words import question_in_words
from actors.values.question_form import consequence_of
from replan.runs.inbox import check_receipt, questions_of, split_question_id
from replan.setup.installation import program
from replan.views.errors import line_of_error
from replan_server.service.access import Principal, use_token
from replan_server.service.limits import RequestRefused
from replan_server.service.run_data import answer_of_form, with_form
from replan_server.web.rendering import render
from replan_server.web.requests import FormFields, problem, status_of_error
from replan_server.web.site import Site
from replan_server.webhooks.answer_links import (
    AnswerLink,
    LinkRefused,
    LinkUnknown,
    check_person,
    confirmation,
    is_confirmed,
    read_link,
)
from runtime.core.errors import ReplanError, RunNotFound, UsageProblem

UNCHANGED = "Nothing was changed."


async def _open_question(site: Site, link: AnswerLink) -> dict[str, Any]:
    """Return the question that a verified link answers, as plain data.

    Raises `LinkRefused` if the link's person must not answer it, and `HTTPException` if it is not open.
    """
    assert site.answering is not None  # Else nothing verifies a link.
    run, name = split_question_id(link.question)
    try:
        common = await site.engine.common_with_inbox(run)
        found = [item for item in await questions_of(site.reader, run) if item["id"] == link.question]
    except RunNotFound:
        raise HTTPException(410, f"The run that asked this question was deleted. {UNCHANGED}") from None
    question = None if common is None else common.questions.get(name)
    people_only = question is not None and question.request.people_only
    people = () if question is None else question.asked_people
    check_person(site.answering, link, people_only=people_only, asked=people)
    if not found or question is None or not question.open:
        raise HTTPException(409, f"{_closing_reason(question)} {UNCHANGED}")
    until = found[0].get("until")
    if until is not None and datetime.fromisoformat(until).timestamp() <= site.now():
        raise HTTPException(409, f"The time for an answer is over. {UNCHANGED}")
    return found[0]


def _closing_reason(question: Question | None) -> str:
    if question is None or question.status in (Status.WITHDRAWN, Status.ASKED):
        return "Nobody needs an answer to this question any more."
    if question.status is Status.EXPIRED:
        return f"This question has expired. {question_in_words(consequence_of(question.request.otherwise))}"
    done: Literal["answered", "declined"] = "declined" if question.status is Status.DECLINED else "answered"
    by = f" by {question.person}" if question.person else ""
    return f"This question was {done}{by}{WAYS[question.via]}."


FIELDS_MAX = 10
FIELD_BYTES_MAX = 500_000
"""The largest number of bytes in one field of a form, such as an answer."""


@dataclass(frozen=True, slots=True)
class Linked:
    """A verified link, and the open question that it answers."""

    link: AnswerLink
    token: str
    question: dict[str, Any]


async def show_linked_question(site: Site, request: Request) -> Response:
    """Return the page with a link's question and its form. The page changes nothing, even if a program opens it."""
    try:
        return _form_page(site, await _verify_link(site, request))
    except LinkUnknown as error:  # No page has this address.
        return problem(site, None, 404, f"{_sentence(error)} Nothing was changed.")
    except (ReplanError, HTTPException) as error:
        return _refusal(site, error)


async def answer_through_link(site: Site, request: Request) -> Response:
    """Post the answer in the form. If programs must not answer the question, first ask for confirmation."""
    try:
        async with request.form(max_files=0, max_fields=FIELDS_MAX, max_part_size=FIELD_BYTES_MAX) as data:
            linked = await _verify_link(site, request)
            site.count_write(Principal(f"link:{linked.link.person}", "answer"))
            return await _answer(site, linked, FormFields(data))
    except (ReplanError, HTTPException) as error:
        return _refusal(site, error)


async def _verify_link(site: Site, request: Request) -> Linked:
    """Return the link of a request and its question. Raises `LinkRefused`, or `HTTPException` for a closed question."""
    token = request.path_params["token"]
    link = read_link(site.answering, token, site.now())
    return Linked(link, token, with_form(await _open_question(site, link)))


async def _answer(site: Site, linked: Linked, form: FormFields) -> Response:
    question, link = linked.question, linked.link
    if form.text("version") != question["version"]:
        raise HTTPException(409, "The question has changed since the page was opened. Open the link again.")
    typed, picked = form.text("typed"), form.text("picked")
    declines = form.text("do") == "decline"
    text = "" if declines else answer_of_form(question, picked, typed)
    if question.get("people_only"):
        assert site.answering is not None
        confirmed = f"{'decline' if declines else 'answer'} {question['version']} {text}"
        if not is_confirmed(site.answering, linked.token, confirmed, form.text("confirm"), site.now()):
            values = {"confirm": confirmation(site.answering, linked.token, confirmed, site.now())}
            fields = {"picked": picked, "typed": typed, "do": "decline" if declines else "answer"}
            return _page(site, "answer_confirm.html", linked, {**values, "text": text, "fields": fields})
    try:
        if declines:
            receipt = await site.engine.decline(link.question, via="link", person=link.person)
        else:
            receipt = await site.engine.answer(link.question, text, via="link", person=link.person)
        check_receipt(receipt, link.question)
    except UsageProblem as error:
        if not await _is_open(site, link):
            raise HTTPException(409, "Another answer was given before, and the first answer counts.") from None
        return _form_page(site, linked, line_of_error(error), typed or picked, 422)
    if receipt.result == "duplicate":
        raise HTTPException(409, "The same answer was given before, so nothing was changed.")
    return _page(site, "answer_done.html", linked, {"text": text, "declined": declines})


async def _is_open(site: Site, link: AnswerLink) -> bool:
    return any(
        item["id"] == link.question for item in await questions_of(site.reader, split_question_id(link.question)[0])
    )


def _form_page(site: Site, linked: Linked, trouble: str = "", typed: str = "", status: int = 200) -> Response:
    return _page(site, "answer_form.html", linked, {"trouble": trouble, "typed": typed}, status)


def _page(site: Site, template: str, linked: Linked, values: dict[str, Any], status: int = 200) -> Response:
    common = {"csrf": "", "signed_in": False, "now": site.now(), "live": None, "here": "", "notice": "", "user": ""}
    own = {"q": linked.question, "person": linked.link.person, "token": linked.token}
    return render(template, {**common, "all_read": False, **own, **values}, status)


def _refusal(site: Site, error: ReplanError | HTTPException) -> Response:
    match error:
        case HTTPException():
            return problem(site, None, error.status_code, error.detail)
        case LinkRefused():
            return problem(site, None, 403, f"{_sentence(error)} Nothing was changed.")
        case _:
            return problem(site, None, status_of_error(error), line_of_error(error))


def _sentence(error: LinkRefused) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."


PASTED_MAX = 500
"""How many characters of the text in the sign-in form are read. The text is a token, or the whole address with the
token."""

_TOKEN = re.compile(r"[\w-]{20,100}")


async def show_sign_in(site: Site, request: Request) -> Response:
    """Return the sign-in page. Its script copies the token from the fragment of the address into the form.

    Browsers do not send the fragment to a server.
    """
    if site.visitor(request) is not None:
        return RedirectResponse("/", 303)
    return _sign_in(site, "")


async def sign_in(site: Site, request: Request) -> Response:
    """Begin a session if the token is right. The form has no CSRF token, because there is no session yet."""
    try:
        async with request.form(max_files=0, max_fields=5, max_part_size=4096) as form:
            pasted = form.get("token", "")
        found = _TOKEN.search(str(pasted)[:PASTED_MAX].rpartition("#")[2])
        token = found[0] if found else ""
        right = await site.change(partial(use_token, server=site.name, token=token, now=site.now()))
        if not right:
            await site.count_failure()
    except HTTPException as error:
        return problem(site, None, error.status_code, error.detail)
    except RequestRefused as error:
        return problem(site, None, status_of_error(error), str(error))
    if not right:
        cause = "This token is wrong, was used before, or is older than a minute."
        return _sign_in(site, f"{cause} `{program()} serve --sign-in` prints an address with a new token.", 403)
    return RedirectResponse("/", 303, {"set-cookie": site.cookie_header(site.sessions.begin(site.now()))})


async def sign_out(site: Site, request: Request, who: Principal, form: FormFields) -> Response:
    """End the session. With the field `everywhere`, end all sessions."""
    del request
    site.sessions.end("" if form.text("everywhere") else who.session)
    return RedirectResponse("/sign-in", 303, {"set-cookie": site.cookie_header("")})


def _sign_in(site: Site, trouble: str, status: int = 200) -> Response:
    common = {"csrf": "", "signed_in": False, "now": site.now(), "live": None, "here": "", "notice": "", "user": ""}
    return render("sign_in.html", {**common, "trouble": trouble, "program": program()}, status)


async def show_opening(site: Site, request: Request) -> Response:
    """Return the page with a button that opens the inbox. The page can be opened without a session."""
    return HTMLResponse(_sign_in_page(button=request.headers["host"].lower() in site.hosts_named))


@cache
def _sign_in_page(*, button: bool) -> bytes:
    values = {"csrf": "", "signed_in": False, "live": None, "here": "", "notice": "", "user": ""}
    values |= {"button": button, "program": program()}
    return bytes(render("opening.html", values).body)
