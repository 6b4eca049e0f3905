"""Open questions as plain data and as lines of text, the same for all interfaces. Pure."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NotRequired, TypeVar, cast

import orjson
from typing_extensions import TypedDict

from actors.run.ids import expiry_id
from actors.run.questions import Question
from actors.run.reminders import step_text, steps_left
from actors.run.state import RunState
from actors.run.waits import HOME_BUDGET
from actors.run.words import question_in_words
from actors.values.answers import TEXT, answer_form, describe_expected
from actors.values.format import stamp
from actors.values.question_form import PRIORITIES, Priority


class AnswerChoice(TypedDict):
    """An answer that a person may choose."""

    value: str
    """The answer, or its beginning if a person must complete it."""
    does: str
    """The effect of the answer on the run, in a sentence."""


class FollowingStep(TypedDict):
    """A step of the reminders that follows if nobody answers a question."""

    at: str
    """When the step follows (ISO 8601, UTC)."""
    ask: list[str]
    """The names of the people who are asked then; empty if the people asked before are reminded."""


class OpenQuestion(TypedDict):
    """An open question as plain data, as `replan questions --json` prints it."""

    id: str
    """The id for answers (`RUN/ID`)."""
    run_id: str
    """The id of the run that asks."""
    step: str
    """The step that the question is about."""
    text: str
    """The question: one sentence that ends in a question mark."""
    about: str
    """The subject of the question and what depends on the answer, in sentences."""
    shown: str
    """The subject's passage, finding or model text, in several lines; empty if there is none."""
    choices: list[AnswerChoice]
    """The offered answers and their effects (`value`, `does`). If only some answers are possible, all are offered."""
    otherwise: str
    """What happens if the question is declined or expires, in a sentence that begins `If you decline,`."""
    priority: Priority
    """How soon the run wants an answer: `high`, `normal` or `low`."""
    why: str
    """The guard or step that asks, and the rule that leads to the question."""
    blocks: list[str]
    """The steps that wait for the answer."""
    asked: str
    """When the question was asked (ISO 8601, UTC)."""
    answer_schema: dict[str, Any]
    """The JSON Schema of an answer."""
    until: NotRequired[str]
    """When the question expires or the run ends, whichever is earlier (ISO 8601, UTC); missing if neither is set."""
    asked_people: NotRequired[list[str]]
    """The names of the people who have been asked so far; missing if everybody who may answer is asked."""
    follows: NotRequired[list[FollowingStep]]
    """The steps that follow if nobody answers; missing if nothing follows."""
    node: NotRequired[str]
    """For a review: the id of the artifact's search node."""
    people_only: NotRequired[bool]
    """True if only a person may answer: a review, an approval, or a question about a tool call's outcome; otherwise
    missing.
    """
    artifact: NotRequired[str]
    """For a review: the artifact in the model's words."""


def question_name(run: str, question: Question) -> str:
    """Return `RUN/QUESTION`, the id of a question in `answer` and `questions`."""
    return f"{run}/{question.request.question_id}"


def question_json(run: str, question: Question) -> OpenQuestion:
    """Return a question as plain data."""
    request = question.request
    own = {"id": question_name(run, question), "run_id": run, "step": request.step}
    rest = {"why": request.why, "blocks": list(request.blocks), "asked": stamp(question.at)}
    data = cast("OpenQuestion", {**own, **request.plain, **rest})
    if request.people_only:
        data["people_only"] = True
    if question.asked_people:
        data["asked_people"] = list(question.asked_people)
    if steps := steps_left(question):
        data["follows"] = [{"at": stamp(at), "ask": list(people)} for at, people in steps]
    return data


def answer_deadline(run: RunState[Any], name: str) -> float | None:
    """Return the time after which an answer is too late, in UTC seconds since 1970; None if there is no such time.

    The time is the earliest of the question's expiry, the run's deadline, and the next day for a question about a daily
    budget. A question at a limit of the run has no deadline, because the run asks it instead of ending.
    """
    question = run.questions.get(name)
    request = None if question is None else question.request
    of_day = request is not None and request.reached is not None and not request.of_run_limit
    waits = [run.waits.get(expiry_id(name)), run.waits.get(HOME_BUDGET) if of_day else None]
    times = [wait.until for wait in waits if wait is not None]
    if run.ledger.ends_at is not None and not (request is not None and request.of_run_limit):
        times.append(run.ledger.ends_at)
    return min(times, default=None)


Q = TypeVar("Q", bound=Mapping[str, Any])
Shown = Callable[[str, Question], OpenQuestion]
"""A function that returns a question as plain data. Its arguments are the run's id and the question."""


def open_questions(run: RunState[Any], shown: Shown = question_json) -> list[OpenQuestion]:
    """Return the open questions of a run as plain data, ordered by `in_order`."""
    questions = []
    for name in run.open_questions:
        question, until = shown(run.run_id, run.questions[name]), answer_deadline(run, name)
        if until is not None:
            question["until"] = stamp(until)
            if "follows" in question:  # Steps after this time are never done.
                left = [step for step in question.pop("follows") if step["at"] < question["until"]]
                question.update({"follows": left} if left else {})
        questions.append(question)
    return in_order(questions)


def in_order(questions: Iterable[Q]) -> list[Q]:
    """Return open questions in the order in which all interfaces show them.

    The highest priority comes first. Among equal priorities, the oldest question comes first.
    """
    return sorted(questions, key=lambda item: (PRIORITIES.index(item["priority"]), str(item["asked"])))


def encode_questions(questions: list[OpenQuestion]) -> bytes:
    """Return open questions in the form of a status row: a JSON array; empty if there are no questions."""
    return orjson.dumps(questions) if questions else b""


def decode_questions(row: bytes) -> list[dict[str, Any]]:
    """Return the open questions of a status row.

    Raises `ValueError` if the row is not in a form that journals write.
    """
    questions = orjson.loads(row or b"[]")
    if not isinstance(questions, list) or not all(
        isinstance(question, dict) and "id" in question for question in questions
    ):
        raise ValueError("the row is not a list of questions")
    return [{"priority": "normal", **question} for question in questions]


ARTIFACT_CHARACTERS_MAX = 20_000
"""The largest number of characters that are shown of an artifact under review. The output of `replan questions --json`
has the whole artifact."""
Style = Literal["bold", "dim", ""]


def question_parts(question: Mapping[str, Any], *, numbered: bool = False) -> Iterator[tuple[str, Style]]:
    """Yield the lines of an open question (`actors.run.open_question.OpenQuestion`), with their styles.

    The first lines are the sentence, the priority if it is not normal, the text `about`, and the subject. The choices
    or the form of the answer follow. The last line says what happens if the question is declined. With `numbered`, a
    person can pick a choice by its number.
    """
    yield question_in_words(str(question["text"])), "bold"
    if question["priority"] != "normal":
        yield f"Priority: {question['priority']}.", "bold"
    yield question_in_words(str(question["about"])), "dim"
    for row in subject_lines(question):
        yield f"| {row}".rstrip(), ""
    choices = question["choices"]
    for number, choice in enumerate(choices, 1):
        does = question_in_words(choice["does"])
        yield f"{f'{number}.' if numbered else '-'} {choice['value']}: {does}", ""
    schema = question["answer_schema"]
    if choices and schema == TEXT:
        yield "Or answer in your own words.", "dim"
    elif not choices and schema != TEXT:
        yield f"Answer: {describe_expected(schema)}.", "dim"
    yield question_in_words(str(question["otherwise"])), "dim"
    if "until" in question:
        yield f"Open until {question['until']}.", "dim"
    for text in reminder_lines(question):
        yield text, "dim"


def reminder_lines(question: Mapping[str, Any]) -> list[str]:
    """Return lines about the people who were asked and the steps that follow; empty without reminders."""
    people, follows = question.get("asked_people") or [], question.get("follows") or []
    lines = [f"Asked: {', '.join(people)}."] if people else []
    return lines + [f"If nobody answers by {follow['at']}, {step_text(follow['ask'])}." for follow in follows]


def subject_lines(question: Mapping[str, Any]) -> list[str]:
    """Return the lines that show the subject of a question: a passage or finding, and the artifact under review."""
    rows = str(question["shown"]).split("\n") if question["shown"] else []
    content = str(question.get("artifact", ""))
    if not content:
        return rows
    left_out = len(content) - ARTIFACT_CHARACTERS_MAX
    remainder = f"\n... and {left_out:,} characters" if left_out > 0 else ""
    return [*rows, *f"{content[:ARTIFACT_CHARACTERS_MAX]}{remainder}".split("\n")]


def question_rows(question: Mapping[str, Any]) -> list[str]:
    """Return the lines that a list of questions shows."""
    (first, _), *rest = question_parts(question)
    return [f"- {first}", *(f"  {text}" for text, _ in rest)]


_SAME = ("text", "about", "shown", "choices", "otherwise", "answer_schema", "artifact", "people_only")
"""The keys whose values must be equal in all questions of a group. They have the texts of a question, and decide which
answers are accepted."""


def group_equal(questions: Iterable[Q]) -> list[list[Q]]:
    """Return open questions in groups, in their order.

    All questions of a group have the same texts and accept the same answers.
    """
    groups: dict[str, list[Q]] = {}
    for question in questions:
        key = json.dumps([question.get(name) for name in _SAME], sort_keys=True)
        groups.setdefault(key, []).append(question)
    return list(groups.values())


def choices(question: Mapping[str, Any]) -> list[str]:
    """Return the choices that can be picked by number; empty if the answer must be typed."""
    picks = answer_form(question["answer_schema"]) == "choice" or question["answer_schema"] == TEXT
    return [choice["value"] for choice in question["choices"]] if picks else []


def hint(question: Mapping[str, Any]) -> str:
    """Return the line that tells the user what to type as an answer."""
    schema = question["answer_schema"]
    match answer_form(schema):
        case "choice":
            return "The number of a choice, or its text"
        case "yes_no":
            return "y or n"
        case "text" if choices(question):
            return "The number of a choice, or your own words"
        case "text" if schema == TEXT:
            return "One line, or several pasted lines"
        case _:
            return describe_expected(schema)[:1].upper() + describe_expected(schema)[1:]


def pick_answer(question: Mapping[str, Any], typed: str) -> str:
    """Return the typed answer, or the choice with the typed number."""
    options = choices(question)
    if typed.isascii() and typed.isdigit() and typed not in options and 1 <= int(typed[:4]) <= len(options):
        return options[int(typed) - 1] if len(typed) <= 4 else typed
    return typed
