"""Makes the data for the web page of a run from its state: messages, budget bars, demands, forms, parts of long lists.

Pure.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from actors.demands.table import DemandStanding, DemandTable, standing_text
from actors.guards.review import APPROVE, REJECT
from actors.guards.review import SCHEMA as REVIEW
from actors.run.ids import is_child
from actors.run.inbox import body_of
from actors.run.limits import spec_of
from actors.run.open_question import reminder_lines
from actors.run.questions import MODEL_CHOICE, OTHER_MODEL, WAYS, Status, Via
from actors.run.state import RunState
from actors.run.words import in_words, question_in_words, reason_in_words
from actors.values.answers import AnswerForm, answer_form, describe_expected, options_of
from actors.values.lines import Line, LineTree
from actors.values.question_form import consequence_of
from replan.runs.kind_interface import outline_of
from runtime.core.ledger import COUNTED, Amount, Ledger, Limit
from runtime.logs.terminal_text import clean


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """One message or answer."""

    kind: str
    """`note`, `requirement`, `answer` or `declined`."""
    text: str
    """The text; empty for a declined question."""
    question: str = ""
    """The question, in words; empty for a message that answers no question."""
    seen: bool = True
    """Whether a prompt has contained the message. For an answer: whether a record contains the answer."""
    who: str = "you"
    """Who wrote the message: the name of a person, `a program`, or `you` for the user of the page."""
    way: str = ""
    """How an answer or a decline came, in words that begin with a blank; empty if unknown."""


_SAID_BY: Mapping[Via, str] = {"api": "a program", "mcp": "a program", "python": "a program"}


def messages_to_run(recorded: RunState[Any], with_inbox: RunState[Any]) -> list[ShownMessage]:
    """Return the messages and answers to a run, the oldest first.

    `recorded` is the state after the run's records. `with_inbox` is the state after the run's records and the messages
    in its inbox.
    """
    found = [
        (message.place, ShownMessage(message.kind, message.text, seen=message.seen)) for message in with_inbox.messages
    ]
    for name, question in with_inbox.questions.items():
        seen = name in recorded.questions and recorded.questions[name].status is question.status
        text = question_in_words(question.request.text)
        who, way = question.person or _SAID_BY.get(question.via, "you"), WAYS[question.via]
        if question.status is Status.ANSWERED:
            found.append((question.place, ShownMessage("answer", question.answer, text, seen=seen, who=who, way=way)))
        elif question.status is Status.DECLINED:
            found.append((question.place, ShownMessage("declined", "", text, seen=seen, who=who, way=way)))
    return [item for _, item in sorted(found, key=lambda pair: pair[0])]


def starter(by: str) -> str:
    """Return in words who started a run. `by` is a field of the first event; if it is empty, the result is empty."""
    kind, _, name = by.partition(":")
    match kind:
        case "cli":
            return "the command line"
        case "python":
            return "a Python program"
        case "browser":
            return "the web page"
        case "mcp":
            return "an MCP client"
        case "token":
            return f"the program with the token {name}"
        case _:
            return name or by


@dataclass(frozen=True, slots=True)
class Bar:
    """The bar of one limit: the amounts that count against it, in the unit of the limit."""

    name: str
    """The name of the limit: `calls`, `tokens`, `cost` or `active time`."""
    spent: float
    unknown: float
    """The charge for requests whose real cost is not known."""
    reserved: float
    """The largest amount that open requests may use."""
    limit: float | None
    text: str

    def share(self, part: float) -> float:
        """Return a part in percent of the limit; without a limit, in percent of the sum of all parts."""
        whole = self.limit or (self.spent + self.unknown + self.reserved)
        return round(100 * min(1.0, part / whole), 2) if whole > 0 else 0.0

    @property
    def parts(self) -> tuple[tuple[str, float, float], ...]:
        """The parts of the bar that are not empty: the name, and the start and length in percent of the bar."""
        begin, found = 0.0, []
        for name, value in (("spent", self.spent), ("unknown", self.unknown), ("reserved", self.reserved)):
            length = min(self.share(value), 100 - begin)
            if length > 0:
                found.append((name, begin, length))
            begin += length
        return tuple(found)


def budget_bars(common: RunState[Any], *, price_known: bool) -> list[Bar]:
    """Return the bars of a run. The bar for cost is included only if the price of the run's model is known."""
    ledger = common.ledger
    bars = [_bar(limit, ledger) for limit in COUNTED if price_known or limit is not Limit.COST]
    active, cap = f"{ledger.active:.0f} s", ledger.limits.active_seconds
    text = f"{active} of {cap:,.0f} s" if cap else f"{active}, no limit"
    return [*bars, Bar("active time", ledger.active, 0.0, 0.0, cap, text)]


def _bar(limit: Limit, ledger: Ledger) -> Bar:
    spec, most = spec_of(limit), limit.of(ledger.limits)
    amounts = {"spent": ledger.spent, "unknown": ledger.unknown, "reserved": sum(ledger.reserved.values(), Amount())}
    parts = {name: getattr(amount, limit.key) for name, amount in amounts.items()}
    texts = {name: spec.number(part) for name, part in parts.items()}
    shown = [f"{text} {name}" for name, text in texts.items() if name == "spent" or text.strip("$0.,")]
    text = f"{', '.join(shown)}{f' of {spec.text(most)}' if most else ', no limit'}"
    cap = None if most is None else spec.value(most)
    return Bar(limit.value, **{name: spec.value(part) for name, part in parts.items()}, limit=cap, text=text)


@dataclass(frozen=True, slots=True)
class DemandRow:
    """One demand in the table of a page."""

    quote: str
    kind: str
    source: str
    """The source of the quoted words: `problem`, `user` or `answer`."""
    standing: str
    """How the plan treats the demand, and which meaning of the demand the plan assumes, in words."""
    missing: bool
    """Whether the demand is in no step of the plan."""


def demand_rows(table: DemandTable) -> list[DemandRow]:
    """Return the demands of a plan. Demands that are in no step come first."""
    return [
        DemandRow(
            clean(row.quote, one_line=True),
            row.kind.replace("_", " "),
            row.source,
            clean(f"{standing_text(row)}{f'; assumed: {row.assumed}' if row.assumed else ''}", one_line=True),
            row.standing is DemandStanding.IN_NO_STEP,
        )
        for row in table.worst_first
    ]


Form = AnswerForm | Literal["review"]


def with_form(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question with readable texts, and with the keys that its form needs.

    `form` is the kind of the form. `picks` has each choice with its effect. `hint` says which answers are possible.
    `outline` has lines about an artifact under review; it is empty if no kind makes such lines. `edits` says whether
    the artifact is a plan that can be edited. `declines` says whether a decline has another effect than every choice.
    `reminders` has lines about the question's reminders. `version` is the hash of `version_of`.
    """
    schema = question["answer_schema"]
    any_text = _question_form(question) == "text" and "description" not in schema
    options = _form_choices(question)
    hint = "" if any_text or options else describe_expected(schema)
    does = [question_in_words(choice["does"]) for choice in question["choices"]]
    worded = {name: question_in_words(str(question[name])) for name in ("text", "about", "otherwise")}
    worded["why"] = reason_in_words(question["why"])
    if "node" in question:
        worded["reviewed"] = in_words(question["node"])
    picks = list(zip(options, does, strict=True))
    artifact = str(question.get("artifact", ""))
    form = {"form": _question_form(question), "picks": picks, "hint": hint, "outline": _outline(artifact)}
    has_plan = isinstance(body_of(artifact).get("steps"), list) and not is_child(question["run_id"])
    return {
        **question,
        **worded,
        **form,
        "edits": has_plan,
        "declines": consequence_of(worded["otherwise"]) not in does,
        "reminders": reminder_lines(question),
        "version": version_of(question),
    }


def _outline(artifact: str) -> Sequence[Line]:
    """Return the outline of an artifact under review; empty if no kind has an outline for it."""
    try:
        return outline_of(json.loads(artifact))
    except (ValueError, RecursionError):
        return []


def version_of(question: Mapping[str, Any]) -> str:
    """Return a hash of the question.

    A form sends this hash with the answer. So the server can refuse an answer to a question that has changed.
    """
    stable_fields = {
        name: value for name, value in question.items() if name not in ("until", "asked_people", "follows")
    }
    return hashlib.sha256(json.dumps(stable_fields, sort_keys=True).encode()).hexdigest()[:16]


def _question_form(question: Mapping[str, Any]) -> Form:
    schema = question["answer_schema"]
    return "review" if schema == REVIEW else answer_form(schema)


def _form_choices(question: Mapping[str, Any]) -> list[str]:
    """Return the answers that a form offers as choices; empty if the answer must be typed."""
    match _question_form(question):
        case "choice":
            return options_of(question["answer_schema"])
        case "yes_no":
            return ["yes", "no"]
        case "review":
            return [APPROVE, REJECT.removesuffix(":")]
        case _:
            return [choice["value"] for choice in question["choices"]]


def answer_of_form(question: Mapping[str, Any], picked: str, typed: str) -> str:
    """Return the answer in a form: the picked choice, or the typed text.

    For a rejection, the text is the reason. For the choice of another model, the text is the model's name. If the
    choices are only suggestions, a typed text is used instead of a picked choice.
    """
    if _question_form(question) == "review" and picked != APPROVE:
        return f"{REJECT} {typed}"
    if _question_form(question) in ("choice", "yes_no"):
        return picked
    if picked == MODEL_CHOICE:
        return f"{OTHER_MODEL} {typed}"
    return typed if typed.strip() or not picked else picked


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RowPage(Generic[T]):
    """A page of rows of a longer list or tree."""

    shown: T
    begin: int
    """The number of rows before this page."""
    count: int
    """The number of rows on this page. A tree also shows the parents of these rows."""
    total: int
    """The number of all rows."""

    @property
    def end(self) -> int:
        """The number of the last shown row, counted from 1."""
        return self.begin + self.count


def row_page(rows: Sequence[T], begin: int, most: int) -> RowPage[Sequence[T]]:
    """Return at most `most` rows after the first `begin` rows."""
    begin = min(begin, len(rows))
    shown = rows[begin : begin + most]
    return RowPage(shown, begin, len(shown), len(rows))


def tree_page(tree: LineTree, begin: int | None, most: int) -> RowPage[LineTree]:
    """Return at most `most` rows of a tree in their order of display, and the parents of these rows.

    Without `begin`, return the last rows. The top row is not counted.
    """
    total = _rows(tree) - 1
    begin = max(0, total - most) if begin is None else min(begin, total)
    shown, _ = _cut(tree, -1, begin, begin + most)
    return RowPage(replace(tree, children=()) if shown is None else shown, begin, min(most, total - begin), total)


def _rows(tree: LineTree) -> int:
    return 1 + sum(map(_rows, tree.children))


def _cut(tree: LineTree, position: int, begin: int, end: int) -> tuple[LineTree | None, int]:
    """Return the part of a tree that the page shows, and the number of the next row.

    `position` is the number of the tree's top row.
    """
    top, kept = position, []
    position += 1
    for child in tree.children:
        left, position = _cut(child, position, begin, end)
        if left is not None:
            kept.append(left)
    if not kept and not begin <= top < end:
        return None, position
    return replace(tree, children=tuple(kept)), position
