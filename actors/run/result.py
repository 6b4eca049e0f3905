"""The result and the status row of a run of any kind, as the data that `--json` prints and as lines for a terminal.

Pure.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict

from actors.config.model_spec import provider_name
from actors.run import outage, tools
from actors.run.calls import C
from actors.run.ending import ReopenedBy, RunFinished
from actors.run.fork_event import Fork
from actors.run.inbox import Messages
from actors.run.near_limit import nearest_limit
from actors.run.open_question import (
    OpenQuestion,
    Shown,
    encode_questions,
    open_questions,
    question_json,
    question_name,
    question_parts,
)
from actors.run.state import RunState
from actors.run.waits import DEADLINE
from actors.values.format import format_count, format_usage, money
from actors.values.lines import BLANK, Line, StyledSpan, html_of, indent_line, line, markdown_of, verbatim
from runtime.core.ledger import MICRO, ZERO, Amount, Ledger
from runtime.core.machine import Summary
from runtime.models.port import Fault
from runtime.models.providers import ProviderName

if TYPE_CHECKING:
    from actors.demands.table import DemandTable


class ForkJson(TypedDict):
    """The run that a run was forked from, and the place of the fork."""

    run_id: str
    seq: int
    calls: int


class MessageJson(TypedDict):
    """A message that the user sent without being asked."""

    kind: str
    text: str
    seen: bool


class DemandJson(TypedDict):
    """A demand in the user's texts, and how the plan treats it."""

    id: str
    kind: str
    """The kind of demand, such as `goal` or `prohibition`."""
    quote: str
    source: Literal["problem", "user", "answer"]
    standing: Literal["in_step", "checked", "declared", "in_no_step"]
    steps: list[str]
    guards: list[str]
    """The guards that compare the demand with the plan; if there are none, the guards of the demand's steps."""
    requirement: NotRequired[str]
    """The id of the plan's requirement for the demand."""
    assumed: NotRequired[str]
    """The meaning that the plan assumes for ambiguous words that nobody has clarified."""


class ResultJson(TypedDict):
    """The keys that `--json` prints for a run of any kind. Each kind adds its own keys.

    The HTTP API, the MCP tools and the documentation are generated from this list and the lists of the kinds.
    """

    run_id: str
    status: Literal["running", "waiting", "parked", "finished", "moved"]
    """The status: the run is being driven, waits for a person, is parked, has finished, or was moved to another
    journal.
    """
    outcome: NotRequired[str]
    why: NotRequired[str]
    calls: int
    tokens: int
    cost_usd: float | None
    cached_tokens: NotRequired[int]
    forked_from: NotRequired[ForkJson]
    demands: NotRequired[list[DemandJson]]
    """How the plan treats each demand in the user's texts; missing without a plan."""
    unread: NotRequired[list[str]]
    """The parts of the user's texts that were not read; missing without a plan."""
    proved: NotRequired[bool]
    """Whether the plan is proved and every demand is in a step; missing without a plan."""
    question: NotRequired[OpenQuestion]
    open_questions: NotRequired[list[str]]
    messages: NotRequired[list[MessageJson]]


@dataclass(frozen=True, kw_only=True, repr=False)
class RunResult:
    """The result of a run, for its user. A notebook shows the result like the output of `replan show`.

    A kind with further data has a subclass.
    """

    run_id: str
    """The run's id, for `show`, `answer` and `resume`."""
    status: str
    """`running`, `waiting` (for a person), `parked` or `finished`."""
    outcome: str
    """How the run ended, such as `success`; empty before its end."""
    why: str
    """Why the run ended, why the program parked it, or why no host can drive it; else empty."""
    calls: int
    """The number of charged model calls, including calls whose cost is unknown."""
    tokens: int
    """The charged tokens, input plus output."""
    cost_usd: float | None
    """The charge in dollars; None if the price is unknown."""
    cached_tokens: int = 0
    """The number of tokens that the provider read from its prompt cache."""
    unknown: Amount = ZERO
    """The part of the calls, tokens and cost that is charged for calls whose cost is unknown."""
    question: OpenQuestion | None = None
    """The first open question, as plain data."""
    open_questions: tuple[str, ...] = ()
    """The ids of all open questions, for answers (`RUN/ID`)."""
    messages: Messages = ()
    """The messages that the user sent without being asked, oldest first."""
    cause: str = ""
    """The cause that ended or stopped the run from outside: `provider`, `reply`, `plugin`, `bug` or `home_budget`; else
    empty.
    """
    fault: Fault | None = None
    """The provider's last fault, if the run waits because of it."""
    provider: ProviderName = "openai"
    """The provider whose API the server of the run's model uses."""
    next_try: float | None = None
    """When a host makes the next try, if the run waits for its provider (UTC seconds since 1970)."""
    fork: Fork | None = None
    """The run that this run was forked from, and the amounts that it had used before the fork; None without a fork."""
    reopened_by: ReopenedBy | Literal[""] = ""
    """What lets a finished run go on; empty before its end."""
    lines_of: "Callable[[Any], Sequence[Line]] | None" = field(default=None, compare=False)
    """Returns the lines that the run's kind shows to people; None if the kind shows only the common fields."""

    def __repr__(self) -> str:
        facts = [self.outcome or self.status, *self.facts(), format_count(self.calls, "call")]
        return f"<{type(self).__name__} {self.run_id}: {', '.join(facts)}>"

    def _repr_html_(self) -> str:
        return html_of(self.lines())

    def _repr_markdown_(self) -> str:
        return markdown_of(self.lines())

    def lines(self) -> Sequence[Line]:
        """Return the lines that `replan show` prints about the run."""
        return common_lines(self, "replan") if self.lines_of is None else self.lines_of(self)

    def facts(self) -> Sequence[str]:
        """Return further facts for `repr`."""
        return ()

    @property
    def has_draft(self) -> bool:
        """Whether the run ended before its goal, so that `export --draft` writes an unproved plan."""
        return False

    def so_far(self) -> Sequence[Line]:
        """Return lines about the results so far, for a run that waits for an answer; empty by default."""
        return ()

    @property
    def succeeded(self) -> bool:
        """Whether the run reached its goal."""
        return self.outcome == "success"

    @property
    def held_up(self) -> bool:
        """Whether a host should drive the run but cannot. `why` has the reason."""
        return self.status == "running" and bool(self.why) and not self.cause

    @property
    def demands(self) -> "DemandTable | None":
        """The table of the user's demands; None if there is no plan or no text of the user."""
        return None

    @property
    def proved(self) -> bool:
        """Whether the run's plan is proved and every demand of the user is in a step."""
        return False

    def remarks(self) -> Sequence[str]:
        """Return the kind's lines for stderr, which are printed in addition to the result."""
        return ()

    def details(self) -> Mapping[str, Any]:
        """Return the keys that the kind adds to the object that `--json` prints."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Return the same as `to_json`."""
        return self.to_json()

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        shown: dict[str, Any] = {"run_id": self.run_id, "status": self.status}
        if self.status == "finished":
            shown["outcome"] = self.outcome
        if self.status == "finished" or self.why:
            shown["why"] = self.why
        shown |= {"calls": self.calls, "tokens": self.tokens, "cost_usd": self.cost_usd, **self.details()}
        if self.cached_tokens:
            shown["cached_tokens"] = self.cached_tokens
        if self.fork is not None:
            shown["forked_from"] = {"run_id": self.fork.origin, "seq": self.fork.seq, "calls": self.fork.used.calls}
        if self.demands is not None:
            shown |= {**self.demands.to_json(), "proved": self.proved}
        if self.question is not None:
            shown |= {"question": self.question, "open_questions": list(self.open_questions)}
        if self.messages:
            shown["messages"] = [
                {"kind": message.kind, "text": message.text, "seen": message.seen} for message in self.messages
            ]
        return shown


@dataclass(frozen=True)
class RunView:
    """The data for views of a run."""

    run_id: str
    status: str
    """The status that users see, as in `RunResult.status`."""
    state: Any
    """The state after the last record, of the kind's own type."""
    with_inbox: Any
    """The state as if the messages in the inbox had been recorded already."""
    program: str = "replan"
    lines_of: "Callable[[Any], Sequence[Line]] | None" = None


def result_fields(
    view: RunView, run: RunState[Any], with_inbox: RunState[Any], *, price_known: bool = True
) -> dict[str, Any]:
    """Return the fields that every kind's `RunResult` has.

    The first question is returned without the fields that only one kind adds.
    """
    # As long as a driver works, open calls do not count. Without a driver, they may have been charged.
    ledger = run.ledger
    charged = ledger.used if view.status == "running" else ledger.committed
    finished = run.finished if run.over else None
    reason = run.parked_reason if view.status in ("parked", "running") else ""
    here = view.status != "moved"  # The question may have been answered in the other journal.
    questions = [with_inbox.questions[name] for name in with_inbox.open_questions] if here else []
    cause, wait = _cause(run, finished, reason), run.outage
    if cause == "provider" and wait is not None and finished is None:
        reason = wait.why
    model = getattr(getattr(view.state, "config", None), "model", None)
    latest = next((tries.failed.fault for tries in run.calls.tries.values()), None)
    if view.status == "parked" and not reason and latest is not None:
        server = run.servers.get(model or "")
        reason = f"The last call failed: {latest.kind}{f' at {server}' if server else ''}: {latest.message}"
    return {
        "run_id": view.run_id,
        "status": view.status,
        "outcome": str(finished.outcome) if finished else "",
        "why": finished.why if finished else reason,
        "cause": cause,
        "fault": next(outage.faults(run), None) if cause == "provider" else None,
        "provider": provider_name(model),
        "next_try": wait.until if wait is not None and finished is None and not run.parked else None,
        "reopened_by": finished.reopened_by if finished else "",
        "calls": charged.calls,
        "tokens": charged.tokens,
        "cached_tokens": ledger.cached_tokens,
        "cost_usd": charged.micro_usd / MICRO if price_known else None,
        "unknown": charged - ledger.spent,
        "question": question_json(view.run_id, questions[0]) if questions else None,
        "open_questions": tuple(question_name(view.run_id, question) for question in questions),
        "messages": with_inbox.messages,
        "fork": run.fork,
        "lines_of": view.lines_of,
    }


def _cause(run: RunState[Any], finished: RunFinished | None, reason: str) -> str:
    if finished is not None:
        return finished.cause
    if run.parked_cause or run.outage is not None:
        return run.parked_cause or "provider"
    return "home_budget" if reason and not run.handover else ""


def common_lines(result: RunResult, program: str) -> list[Line]:
    """Return the lines that show the result of a run of any kind."""
    return [
        *heading(result, "Finished"),
        *question_lines(result, program),
        *message_lines(result),
        BLANK,
        usage_line(result),
    ]


def heading(result: RunResult, finished: str) -> Iterator[Line]:
    """Yield the status with the outcome, and then the reason. `finished` is the word for a finished run."""
    running = "Held up" if result.held_up else "Running"
    title = {"waiting": "Waiting for you", "parked": "Parked", "running": running, "moved": "Moved"}.get(
        result.status, finished
    )
    yield line(f"{title}{f': {result.outcome}' if result.outcome else ''}", "bold")
    if result.why:
        yield line(result.why)


def question_lines(result: RunResult, program: str) -> Iterator[Line]:
    """Yield the lines of the first open question, and a line with the number of further questions."""
    if result.question is None:
        return
    for text, style in question_parts(result.question):
        yield Line((StyledSpan("   "), *verbatim(text).spans), 5) if text.startswith("| ") else indent_line(text, style)
    more = len(result.open_questions) - 1
    if more > 0:
        yield indent_line(f"And {format_count(more, 'more question')}: `{program} questions {result.run_id}`.", "dim")


def message_lines(result: RunResult) -> list[Line]:
    """Return the lines about the user's messages. Messages that no prompt has contained yet are marked."""
    if not result.messages:
        return []
    texts = (
        f"{message.kind}: {message.text}{'' if message.seen else '  (not yet seen)'}" for message in result.messages
    )
    return [BLANK, line("You said", "bold"), *(indent_line(text) for text in texts)]


def charges_text(result: RunResult) -> str:
    """Return the model calls of a run, and its tokens and money if there are any."""
    text = format_count(result.calls, "model call")
    if result.tokens:  # A model that reports no tokens, such as a template, costs nothing.
        cached = f" ({result.cached_tokens:,} from the prompt cache)" if result.cached_tokens else ""
        text += f", {format_count(result.tokens, 'token')}{cached}"
    if result.cost_usd or (result.cost_usd is None and result.tokens):
        text += f", {money(result.cost_usd)}"
    return text


def usage_line(result: RunResult) -> Line:
    """Return a line with the run's id and its charges."""
    text = f": {charges_text(result)}"
    if result.unknown != ZERO:
        text += f"; charged as unknown: {format_usage(result.unknown, known=result.cost_usd is not None)}"
    if result.fork is not None:
        shared = format_count(result.fork.used.calls, "call")
        text += f"; forked at record {result.fork.seq} from run {result.fork.origin}, which had then used {shared}"
    return Line((StyledSpan(f"Run {result.run_id}", "dim", result.run_id), StyledSpan(f"{text}.", "dim")))


def status_row(run: RunState[C], calls: Collection[str], *, working: bool, shown: Shown = question_json) -> Summary:
    """Return the run's status row.

    `calls` has the open calls on which an actor works. `calls` has no calls of an earlier driver, and no calls whose
    child run waits for its provider. `working` says whether a guard or a tool works. `shown` turns a question into
    plain data.
    """
    # A child run uses amounts that its parent run has reserved.
    ledger = Ledger(run.ledger.limits) if run.child else run.ledger
    reserved = sum((ledger.reserved.get(name, ZERO) for name in (*calls, *run.tools)), ZERO)
    asks = encode_questions(open_questions(run, shown)) if run.questions else b""
    row = partial(
        Summary,
        committed=ledger.committed,
        reserved=reserved,
        parked=run.parked or run.renewing,
        asks=asks,
        near=nearest_limit(run),
    )
    if run.over and run.finished is not None:
        return row("finished", str(run.finished.outcome), near="")
    if run.finished is not None:  # A driver must still end its calls of tools.
        return row("parked" if run.child else "running", ending=True)
    if run.child:  # Only its parent run continues it.
        return row("parked")
    if run.fork is not None and run.epoch == 0:  # Its first driver requests the open work again.
        return row("running")
    rests = not (working or calls or tools.busy(run.tools))
    wake = min([wait.until for wait in run.waits.values()], default=None) if rests else None
    questions = run.open_questions
    if questions and rests:
        return row("waiting", next(iter(questions)), run.asked_since, wake)
    if run.parked:
        return row("running" if run.handover else "parked", run.parked_reason)
    outage = run.outage if rests else None
    # If only the deadline can wake a run, its last driver has left some decisions unwritten.
    wake = None if run.waits.keys() == {DEADLINE} else wake
    return row("running", "" if outage is None else outage.why, next_wake=wake)
