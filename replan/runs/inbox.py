"""Posts messages from people to runs, and reads the open questions of one run or of all runs.

A message is checked against the run's state, then posted. The driver of the run checks it again. A message can be
posted even if no process drives the run, because the inbox is stored in the journal.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from actors.run.ids import is_child
from actors.run.inbox import KINDS, ForPeopleOnly, check_decline, check_message, normalise_answer
from actors.run.open_question import decode_questions, in_order
from actors.run.questions import Question, Status, Via
from actors.run.settings import change_of
from actors.run.state import RunState
from actors.values.answers import InvalidAnswer, describe_expected, normal_answer
from replan.runs.families import check_own
from replan.runs.reader import ALL, RunReader
from replan.setup.installation import program
from runtime.core.errors import JournalDamaged, KindUnknown, ReplanError, RunNotFound, UsageProblem
from runtime.core.events import make_storable
from runtime.journal.head import check_here, place_moved_to
from runtime.journal.port import Journal, Posted, RunRow

if TYPE_CHECKING:
    from replan.setup.settings import UserConfig
    from runtime.host.wakeup import WakeUp

CLOSED_BY_PEOPLE = (Status.ANSWERED, Status.DECLINED)
"""The statuses of a question that a person has closed, by an answer or by declining to answer."""
CANCEL = "cancel"
"""The key of the message that cancels a run. The inbox has at most one message with this key."""

Common = RunState[Any] | None
"""The part of a run's state that runs of all kinds have; None before the run has begun."""


@dataclass(frozen=True, slots=True)
class AnswerReceipt:
    """The receipt for an answer to a question, or for declining it."""

    result: Literal["accepted", "duplicate", "conflict"]
    """`duplicate`: the same answer was already posted. `conflict`: a different answer was already posted, and only that
    answer counts.
    """
    stands: str | None
    """The answer that counts; None if the question is declined."""
    otherwise: str = ""
    """The question's text about what happens if it is declined; empty if an answer counts."""

    def to_json(self, question: str) -> dict[str, Any]:
        """Return the receipt as a JSON object. `question` is the question's id, RUN/ID."""
        value = {"question": question, "result": self.result, "answer": self.stands}
        return value | {"otherwise": self.otherwise} if self.otherwise else value


ChangeOf = Callable[[RunState[Any], Question, str], Mapping[str, Any]]
"""A function that reads an answer to a question which a run asks at a limit. If the answer names a model, the function
returns the model's settings. It raises `UsageProblem` for a model that is not allowed.
"""


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """A checked answer, or a checked decline of a question. It is not posted yet."""

    run: str
    body: Mapping[str, Any]
    common: Common
    way: Mapping[str, Any]
    """The values of the message's keys `via`, `person` and `change`. Empty values are not posted."""

    @property
    def earlier(self) -> str:
        """A sentence about a different earlier answer; empty if there was none."""
        question = None if self.common is None else self.common.questions.get(self.body["question"])
        if question is None or question.status not in CLOSED_BY_PEOPLE:
            return ""
        stands = question.answer if question.status is Status.ANSWERED else None
        return "" if stands == self.body.get("answer") else _earlier_in_words(stands)


def check_answer(
    common: Common,
    run: str,
    name: str,
    text: str | None,
    *,
    via: Via = "",
    person: str = "",
    change_of: ChangeOf = lambda *_: {},
) -> CheckedAnswer:
    """Check an answer to the question `name`. If the text is None, the question is declined.

    `via` is the interface from which the answer came. `person` is the name of the person who used a link or an account,
    else empty. Raises `UsageProblem` for an answer that cannot be accepted, and `ForPeopleOnly` if a program answers a
    question that only a person may answer.
    """
    change: Mapping[str, Any] = {}
    place = f"{run}/{name}"
    question = None if common is None else common.questions.get(name)
    # An answer to a closed question is not refused here: the inbox may have the same answer.
    closed = question is not None and question.status in CLOSED_BY_PEOPLE
    body = {"kind": "decline" if text is None else "answer", "question": name}
    try:
        if text is None:
            if not closed:
                check_decline(_unfinished_state(run, common).questions, name, via, person)
        elif question is not None and closed:
            body["answer"] = normal_answer(question.request.answer_schema, text)
        else:
            open_run = _unfinished_state(run, common)
            answer = body["answer"] = normalise_answer(open_run.questions, name, text, via, person)
            change = change_of(open_run, open_run.questions[name], answer)
    except InvalidAnswer as problem:
        wish = "some text" if question is None else describe_expected(question.request.answer_schema)
        more = "" if wish in problem.cause else f"; it expects {wish}"
        raise UsageProblem(problem.cause, place=place, hint=f"the question stays open{more}") from None
    except UsageProblem as problem:
        raise _place_at_question(problem, place) from None
    return CheckedAnswer(run, body, common, {"via": via, "person": person, "change": change})


async def _post_message(
    journal: Journal[Any], common: Common, run: str, text: str, kind: str, *, key: str = ""
) -> Posted:
    """Post a note or a requirement. Raises `UsageProblem` if it cannot be accepted.

    A message with a `key` is posted only once, even if this function is called again with the key after the run's end.
    """
    inbox_key = f"tell:{key or secrets.token_hex(8)}"
    if key and await _was_posted(journal, run, inbox_key):
        return await _post(journal, run, inbox_key, {"kind": kind, "text": make_storable(text).strip()})
    if kind not in KINDS:
        raise UsageProblem(f"there is no kind {kind!r} of message", place="as", hint=f"use {' or '.join(KINDS)}")
    open_run = _unfinished_state(run, common)
    try:
        clean_text = check_message(open_run.messages, text)
    except UsageProblem as problem:
        hint = "give some text, or - to read standard input"
        raise UsageProblem(problem.cause, place="TEXT", hint=hint) from None
    return await _post(journal, run, inbox_key, {"kind": kind, "text": clean_text})


async def _post_change(
    journal: Journal[Any], common: Common, run: str, changes: Mapping[str, Any], *, key: str = ""
) -> Posted:
    inbox_key = f"change:{key or secrets.token_hex(8)}"
    if not (key and await _was_posted(journal, run, inbox_key)):
        open_run = _unfinished_state(run, common)
        change_of(open_run.ledger, changes, journal.now(), never_strict=open_run.never_strict)
    return await _post(journal, run, inbox_key, {"kind": "change", **changes})


def split_question_id(question: str) -> tuple[str, str]:
    """Split a question's id into the run's id and the question's name. Raises `UsageProblem` for any other text."""
    run, slash, name = question.rpartition("/")
    if not (run and slash and name):
        cause, hint = f"{question!r} is not a question's id", f"`{program()} questions` lists the ids as RUN/ID"
        raise UsageProblem(cause, place="QUESTION", hint=hint)
    return run, name


def not_started(run: str) -> UsageProblem:
    """Return the error for a run that has no records."""
    hint = f"start it again with `{program()} run`"
    cause = "the run never began: it has no records"
    return UsageProblem(cause, place=run, hint=hint)


async def _was_posted(journal: Journal[Any], run: str, key: str) -> bool:
    return any(item.key == key for item in await journal.inbox(run))


async def _post(journal: Journal[Any], run: str, key: str, body: Mapping[str, Any]) -> Posted:
    return await journal.post(run, key, json.dumps(body))


async def post_answer(journal: Journal[Any], checked: CheckedAnswer) -> AnswerReceipt:
    """Post a checked answer or decline.

    If the same answer was already posted, even from another interface, the result is `duplicate`.
    """
    body, way, name = checked.body, checked.way, checked.body["question"]
    known = {key: value for key, value in way.items() if value}
    posted = await _post(journal, checked.run, f"answer:{name}", {**body, **known})
    first_body = json.loads(posted.body)
    same = {key: value for key, value in first_body.items() if key not in way} == body
    result = "duplicate" if posted.result == "conflict" and same else posted.result
    answer = first_body.get("answer")
    question = None if answer is not None or checked.common is None else checked.common.questions.get(name)
    return AnswerReceipt(result, answer, "" if question is None else question.request.otherwise)


def _unfinished_state(run: str, common: Common) -> RunState[Any]:
    """Return the common state of a run that can continue.

    Raises `UsageProblem` for any other run: it accepts no messages.
    """
    if common is None:
        raise not_started(run)
    if common.finished is not None and common.finished.final:
        hint = f"`{program()} show {run}` shows its result; for new requirements, start a new run"
        raise UsageProblem(f"the run has finished ({common.finished.outcome})", place=run, hint=hint)
    return common


def _place_at_question(problem: UsageProblem, question: str) -> UsageProblem:
    if isinstance(problem, ForPeopleOnly):
        return ForPeopleOnly(
            problem.cause, place=question, hint=f"answer on the web page, or with `{program()} answer`"
        )
    return UsageProblem(
        problem.cause, place=question, hint=problem.hint or f"`{program()} questions` lists the open questions"
    )


SHOWN_MAX = 200
"""The largest number of characters that a message quotes from an earlier answer to the same question."""


@dataclass(frozen=True, slots=True)
class QuestionPage:
    """One page of the list of all open questions of all runs."""

    questions: tuple[dict[str, Any], ...]
    problems: tuple[tuple[str, ReplanError], ...]
    """The runs that cannot be read, with their errors."""
    titles: Mapping[str, str]
    """The titles of the runs that have questions, by the runs' ids."""
    more: bool


async def questions_of(reader: "RunReader", run: str) -> list[dict[str, Any]]:
    """Return the open questions of a run as JSON objects, in the order of `in_order`.

    Raises the errors of `RunReader.read`, and `RunMoved`.
    """
    row = await reader.journal.row(run)
    check_here(run, row.owner)
    return await _questions_at(reader, row)


async def all_questions(reader: "RunReader", *, begin: int = 0, limit: int | None = None) -> QuestionPage:
    """Return the open questions of all unfinished runs: at most `limit` questions after the first `begin`.

    The questions are in the order of `in_order`. A run that cannot be read is listed in `problems`.
    """
    questions: list[dict[str, Any]] = []
    problems: list[tuple[str, ReplanError]] = []
    rows = await reader.journal.runs(replace(ALL, asks=True))
    for row in reversed(rows):  # The oldest questions come first, even within the same second.
        if is_child(row.run) or place_moved_to(row.owner) is not None:
            continue
        try:
            questions += await _questions_at(reader, row)
        except RunNotFound:
            continue  # It was deleted since the rows were read.
        except (JournalDamaged, KindUnknown, UsageProblem) as error:
            problems.append((row.run, error))
    questions = in_order(questions)
    end = len(questions) if limit is None else begin + limit
    titles = {row.run: row.title for row in rows}
    return QuestionPage(tuple(questions[begin:end]), tuple(problems), titles, more=end < len(questions))


async def _questions_at(reader: "RunReader", row: RunRow) -> list[dict[str, Any]]:
    """Return the open questions in the status row of a run.

    If the inbox has an unread message, read the run instead.
    """
    asks = row.asks
    if row.unread:
        loaded = await reader.read(row.run)
        asks = loaded.kind.machine.summary(await reader.with_inbox(row.run, loaded)).asks
    try:
        return decode_questions(asks)
    except ValueError:
        raise JournalDamaged(f"run {row.run!r}", "the questions of its status row cannot be read") from None


def check_receipt(receipt: "AnswerReceipt", question: str) -> None:
    """Raise `UsageProblem` if a receipt says that a different answer to the question was posted earlier."""
    if receipt.result == "conflict":
        raise UsageProblem(_earlier_in_words(receipt.stands), place=question, hint=FIRST_COUNTS)


FIRST_COUNTS = "the first answer counts"


def _earlier_in_words(stands: str | None) -> str:
    if stands is None:
        return "the question was declined before"
    return f"another answer was given before: {stands[:SHOWN_MAX]!r}"


P = TypeVar("P")


class RunPoster(RunReader):
    """Reads the runs of a journal, posts messages to them, and wakes the hosts. It does not drive runs."""

    journal: Journal[Any]
    wakeup: "WakeUp"
    config: "UserConfig"
    environment: Mapping[str, str]

    async def answer(self, question: str, text: str, *, via: Via = "", person: str = "") -> AnswerReceipt:
        """Post an answer to the question `RUN/ID`. The answer is stored when this returns.

        `via` is the interface from which the answer came. `person` is the name of the person who used a link or an
        account, else empty.

        If the same answer was posted before, the result is `duplicate`. If a different answer was posted before, the
        result is `conflict`, and `stands` is the answer that counts. Raises `RunNotFound`, `KindUnknown`, and
        `UsageProblem` for an unknown or closed question or an answer that does not fit. Raises `ForPeopleOnly` for a
        question that a program may not answer.
        """
        return await self.post_answer(await self.check_answer(question, text, via=via, person=person))

    async def decline(self, question: str, *, via: Via = "", person: str = "") -> AnswerReceipt:
        """Decline a question. The receipt says what happens then. Raises the errors of `answer`."""
        return await self.post_answer(await self.check_answer(question, None, via=via, person=person))

    async def check_answer(self, question: str, text: str | None, *, via: Via = "", person: str = "") -> CheckedAnswer:
        """Check an answer to the question `RUN/ID`. If the text is None, the question is declined. Nothing is posted.

        Several answers can be checked before the first is posted. Raises the errors of `answer`.
        """
        from replan.runs.limit_answers import (  # noqa: PLC0415 -- reading questions opens no model
            change_of_answer,
            check_budget_allows,
        )

        run, name = split_question_id(question)
        await check_own(self, run, "questions RUN")
        now = self.journal.now()

        def change(run: RunState[Any], asked: Question, answer: str) -> Mapping[str, Any]:
            return change_of_answer(
                run, asked, answer, via=via, config=self.config, environment=self.environment, now=now
            )

        common = await self.common_with_inbox(run)
        if common is not None and (asked := common.questions.get(name)) is not None and asked.open:
            await check_budget_allows(self.journal, run, asked, text)
        return check_answer(common, run, name, text, via=via, person=person, change_of=change)

    async def post_answer(self, checked: CheckedAnswer) -> AnswerReceipt:
        """Post a checked answer. The answer is stored when this returns. Raises `RunNotFound`."""
        return await self._and_wake(post_answer(self.journal, checked))

    async def tell(self, run: str, text: str, kind: str = "note", *, key: str = "") -> Posted:
        """Post a note or a requirement. Later prompts show a note; a requirement changes the task.

        If the run takes values, a note `FIELD=VALUE` is posted as a correction, even after the run has succeeded. A
        message with a `key` is posted only once. If `tell` is called again with the same key, the result is `duplicate`
        for the same text, and `conflict` for another text.

        Raises `RunNotFound`, `KindUnknown`, and `UsageProblem` for an empty or too long text, and for a run that has
        finished or is a child run.
        """
        await check_own(self, run, "tell RUN TEXT")
        loaded = await self.read(run)
        state = await self.with_inbox(run, loaded)
        correction = loaded.kind.correction(state, text) if kind == "note" else None
        if correction is not None:
            key = f"tell:{key or secrets.token_hex(8)}"
            return await self._and_wake(_post(self.journal, run, key, correction))
        common = loaded.kind.run_state(state)
        return await self._and_wake(_post_message(self.journal, common, run, text, kind, key=key))

    async def change(self, run: str, changes: Mapping[str, Any], *, key: str = "") -> Posted:
        """Post a change of a run's model or limits (`actors.run.settings`).

        `key` is the same as for `tell`.

        Raises `RunNotFound`, `KindUnknown`. Raises `UsageProblem` with the key as its `place` for a change that is not
        valid. Raises `UsageProblem` for a run whose end is final, and for a child run.
        """
        await check_own(self, run, "resume RUN")
        common = await self.common_with_inbox(run)
        return await self._and_wake(_post_change(self.journal, common, run, changes, key=key))

    async def post_edit(self, run: str, key: str, body: Mapping[str, Any]) -> Posted:
        """Post an edited plan that was judged (`replan.runs.editing`)."""
        return await self._and_wake(_post(self.journal, run, key, body))

    async def cancel(self, run: str) -> Posted:
        """Post the message that cancels a run.

        If no process drives the run, the run is cancelled when a process next drives it.

        Raises `RunNotFound`, and `UsageProblem` for a child run and a run that never began.
        """
        await check_own(self, run, "cancel RUN")
        if (await self.journal.row(run)).last_seq == 0:
            raise not_started(run)
        return await self.post_cancel(run)

    async def undo(self, run: str) -> Posted:
        """Post the message that makes an execution undo its work when a process next drives it.

        The execution may have ended.

        Raises `RunNotFound`, `KindUnknown`. Raises `UsageProblem` for a run of another kind, a child run, and a run
        that never began, has nothing to undo, or is undone.
        """
        await check_own(self, run, "undo RUN")
        loaded = await self.read(run)
        if not loaded.started:
            raise not_started(run)
        problem = loaded.kind.undo_problem(await self.with_inbox(run, loaded))
        if problem:
            raise UsageProblem(problem, place=run, hint=f"`{program()} show {run}` shows what it did")
        return await self._and_wake(_post(self.journal, run, f"undo:{secrets.token_hex(8)}", {"kind": "undo"}))

    async def post_cancel(self, run: str) -> Posted:
        """Post the message that cancels a run. The run may be a child run."""
        await self.journal.row(run)
        return await self._and_wake(_post(self.journal, run, CANCEL, {"kind": "cancel"}))

    async def _and_wake(self, posting: Awaitable[P]) -> P:
        posted = await posting
        self.wakeup.wake()
        return posted
