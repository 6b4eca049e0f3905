"""The views of a kind's runs: functions that turn states and events into data. Each view has a default for any kind.

Pure. The interfaces (command line, web, MCP) show this data, and have no code for single kinds.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from actors.files.suggestions import nearest
from actors.run import records
from actors.run.advice import advice
from actors.run.calls import CallReissued, CallRequested
from actors.run.ids import child_run
from actors.run.limits import spec_of
from actors.run.machine import RunMachine
from actors.run.result import RunResult, RunView, common_lines, result_fields
from actors.values.findings import Finding
from actors.values.flow import Checklist, Flow
from actors.values.format import format_count, money
from actors.values.lines import BLANK, Line, LineTree, line
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.ledger import COUNTED, Limit
from runtime.core.machine import fold

E = TypeVar("E")

Scalar = str | int | float | bool | tuple[str, ...]
"""The value of a field in a view of a run: an id, a number or a code. The value never contains text from a model or a
user."""


class CheckBegan(NamedTuple):
    """A check by a guard began."""

    request_id: str
    node: str
    guard: str


class CheckEnded(NamedTuple):
    """A check by a guard ended."""

    request_id: str
    node: str
    guard: str
    """The name of the guard. If a member of a composite guard rejected, the name of this member."""
    passed: bool
    score: float
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marked:
    """An event without a duration, such as a decision."""

    name: str
    """The name of the event, such as `decide partial_replan`."""
    node: str = ""
    fields: Mapping[str, Scalar] = field(default_factory=dict)
    rule: str = ""
    level: str = ""


Traced = CheckBegan | CheckEnded | Marked


@dataclass(frozen=True)
class Tracing(Generic[E]):
    """The attempts, checks and decisions in a kind's events, for traces and metrics.

    The defaults are for a kind that has only calls, tools, questions and waits.
    """

    attempt: Callable[[str], str] = lambda _: ""
    """Returns the attempt that a node belongs to; empty if it belongs to no attempt."""
    facts: Callable[[E], Sequence[Traced]] = lambda _: ()
    """Returns the checks and decisions that an event reports."""
    ended: Callable[[E, Sequence[str]], Collection[str]] = lambda _, __: ()
    """Returns the attempts that an event ends. The arguments are the event and the open attempts."""
    plans: Callable[[Any, str], bool] = lambda _, __: False
    """Returns whether an attempt makes a plan. The arguments are the run's state and the attempt."""


S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Tree:
    """The tree of the actions of a run."""

    tree: LineTree
    lines: tuple[Line, ...] = ()
    to_json: Callable[[], Mapping[str, Any]] = field(default=dict, compare=False)
    """Returns the tree as plain data: the keys that `show --tree --json` prints in addition to `run_id`."""
    belief: str = ""
    """Sentences about the likely mistake and the best moves after the last rejection; empty if the policy has no
    belief.
    """


class RunDocument(NamedTuple):
    """A document that a run has made, such as its plan."""

    lines: tuple[Line, ...] = ()
    json: Any = None
    text: str | None = None
    """The document as text in its own format; None for a document that has `lines` and `json`."""
    content: bytes | None = None
    """The document as bytes, for a binary format; None for any other document."""


class SentPrompt(NamedTuple):
    """The messages of a call, rebuilt from the journal."""

    request_id: str
    prompt_hash: str
    verified: bool
    messages: tuple[tuple[str, str], ...]
    cut: tuple[str, ...] = ()
    """The names of the texts in the prompt that were cut to their limit."""


Near = Callable[[int], tuple[int, S]]
"""A function that finds a state from which a replay can start. Its argument is the number of a record. It returns a
number of records before that record, and the state after these records.
"""


def _result(view: RunView) -> RunResult:
    return RunResult(**result_fields(view, view.state.run, view.with_inbox.run))


def _lines(result: RunResult, program: str) -> list[Line]:
    step = advice(result, program)
    return [*common_lines(result, program), *([line(f"Next: {step}.", "cyan")] if step else [])]


def _tree(title: str, state: Any, written: Sequence[Record[Any]], *, interrupted: bool, brief: bool) -> Tree:
    del interrupted, brief
    texts = [(record, records.action_text(record.event, state)) for record in written]
    rows = tuple(LineTree(line(text)) for _, text in texts if text)

    def to_json() -> dict[str, Any]:
        return {"nodes": [{"seq": item.seq, **records.record_fields(item.event)} for item, text in texts if text]}

    return Tree(LineTree(line(title, "bold"), rows), to_json=to_json)


def budget_line(state: Any, now: float, *, price_known: bool | None = None, working: bool | None = None) -> Line:
    """Return one line about how much of each limit is used.

    `price_known` says whether costs are shown; by default, they are shown if the run's model has a price. `working`
    says whether the time since the last event is active. By default, it is active if a call of a model or a tool is
    open.
    """
    price_known = state.config.price is not None if price_known is None else price_known
    working = bool(state.run.calls.open or state.run.tools) if working is None else working
    ledger, limits = state.run.ledger, state.run.ledger.limits
    used = ledger.used
    # Open calls count too, because the user waits for them.
    parts = [f"{ledger.committed.calls} of {format_count(limits.calls, 'call')}"]
    for limit in COUNTED[1:]:
        amount, most, spec = getattr(used, limit.key), limit.of(limits), spec_of(limit)
        unknown = limit is Limit.COST and not price_known
        if amount or most or (unknown and used.tokens):
            text = money(None) if unknown else spec.text(amount)
            parts.append(text + (f" of {spec.number(most)}" if most else ""))
        if limit is Limit.TOKENS and ledger.cached_tokens:
            parts[-1] += f", {ledger.cached_tokens:,} of them from the prompt cache"
            saved = 0.0 if state.config.price is None else state.config.price.cache_saving_usd(ledger.cached_tokens)
            parts[-1] += f" (saved {money(saved)})" if saved > 0 else ""
    running = max(0.0, now - state.run.now) if working else 0.0
    parts.append(f"{ledger.active + running:.0f} s")
    return line(" · ".join(parts), "dim")


class AskedFor(NamedTuple):
    """The task of a run."""

    text: str = ""
    """The user's text; empty if the kind has no text, or if the run made a plan without a problem."""
    facts: tuple[tuple[str, str], ...] = ()
    """Facts about the configuration as (name, value), such as the workflow. A page shows the first fact in its header.
    """


class ShownPassage(NamedTuple):
    """A passage of a document that states a value of a run."""

    title: str
    where: str
    before: str
    quote: str
    after: str


@dataclass(frozen=True)
class Views(Generic[S, E]):
    """The views of a kind. Each default works for every kind. A kind replaces the defaults that should show more."""

    asked: Callable[[S], AskedFor] = lambda _: AskedFor()
    """Returns the task of a begun run."""
    result: Callable[[RunView], RunResult] = _result
    """Returns the result of a run. `show --json` prints its `to_json`."""
    result_lines: Callable[[Any, str], list[Line]] = _lines
    """Returns the result as lines for people. The second argument is the command with which the user calls this
    program.
    """
    brief_lines: Callable[[Any, str], list[Line]] | None = None
    """Returns a short form of `result_lines`, shown by default; None if `result_lines` is short already."""
    brief_has_tree: bool = False
    """Whether the short result shows everything that the tree of a live view shows. If so, the tree need not stay on
    the screen.
    """
    tree: Callable[..., Tree] = _tree
    """Returns the actions of the run: `tree(title, state, records, interrupted=…, brief=…)`.

    `interrupted` says whether nobody drives the run now. `brief` asks for a short tree, for a live view.
    """
    record_text: Callable[[E, S], str] = records.record_text
    """Returns an event in one line, from the event and the state after it."""
    news_text: Callable[[E, S], str] = records.news_text
    """Returns the line that a live view shows for an event; empty if it shows no line."""
    record_fields: Callable[[E], Mapping[str, Any]] = records.record_fields
    """Returns an event as plain data, without its time."""
    progress: Callable[[S, float], Line] = budget_line
    """Returns one line about the progress of a begun run, at a time in UTC seconds."""
    documents: Mapping[str, Callable[[Any, Any, str], RunDocument]] = field(default_factory=dict)
    """The functions that return a document of a run, by the document's name, such as `plan`.

    The arguments are the state, the result and the program's name. A function raises `UsageProblem` if the run does not
    have the document.
    """
    tree_title: str = "Actions"
    flow: Callable[[S, Any], Flow | None] = lambda _, __: None
    """Returns the graph of a run, such as its plan, from the state and the result; None if there is no graph yet."""
    flow_title: str = "Graph"
    checklist: Callable[[Any], Checklist | None] = lambda _: None
    """Returns the steps of a run with their statuses, from the result; None for a kind without steps."""
    sources: Callable[[Any], Sequence[tuple[str, str]]] = lambda _: ()
    """Returns the name of each value that a document states, with the place of the quoted passage.

    The argument is the result.
    """
    passage: Callable[[Sequence[Record[Any]], Any, str], ShownPassage | None] = lambda _, __, ___: None
    """Returns the passage that states a value; None if there is none. The arguments are the records, the result and the
    value's name.
    """
    prompt: Callable[..., SentPrompt] | None = None
    """Returns the messages of a call: `prompt(records, wanted, near)`; None for a kind without prompts.

    `wanted` is the call's node or request id. If `near` (a `Near`) is not None, only a part of the records is replayed.
    Raises `UsageProblem` if the call was not made.
    """

    findings: Callable[[E], tuple[str, Sequence[Finding]]] = lambda _: ("", ())
    """Returns the node's id and the findings of a verdict. For any other event, the id is empty."""

    tracing: Tracing[E] = field(default_factory=Tracing)
    """The data that traces and metrics show in addition to calls, tools, questions and waits."""

    def lines(self, result: Any, program: str, *, full: bool, demands: bool = True) -> list[Line]:
        """Return the result of a run for people, in full or in short.

        With `demands`, the table of demands is at the end.
        """
        lines = (self.result_lines if full or self.brief_lines is None else self.brief_lines)(result, program)
        table = result.demands if demands else None
        if table is None:
            return lines
        from actors.demands.table import table_lines  # noqa: PLC0415 -- most commands show no table

        return [*lines, BLANK, *table_lines(table, full=full)]


def calls_of(records: Sequence[Record[Any]]) -> list[tuple[int, CallRequested]]:
    """Return the requests for model calls, each with the index of its record."""
    calls = []
    for position, record in enumerate(records):
        event = record.event.again if isinstance(record.event, CallReissued) else record.event
        if isinstance(event, CallRequested):
            calls.append((position, event))
    return calls


def rebuilt_prompt(
    machine: RunMachine[Any, Any], records: Sequence[Record[Any]], name: str, near: Near[Any] | None = None
) -> SentPrompt:
    """Return the messages of a call. `name` is a request id, or a node, which stands for its last try.

    A request id is, for example, `g_plan/v1.a1.t2`. `near` returns a state to start the replay from. Raises
    `UsageProblem` if the call was not made or calls no model. The hint of this error has the most similar name.
    """
    calls = calls_of(records)
    matches = [(place, call) for place, call in calls if name in (call.call, call.request_id)]
    if not matches:
        hint = nearest(name, [call.request_id for _, call in calls], kind="calls") or "the run has called no model"
        raise UsageProblem(f"there is no call {name!r} in this run", place="--prompt", hint=hint)
    place, request = matches[-1]
    begin, before = (0, machine.initial()) if near is None else near(place)
    before = fold(machine, (record.event for record in records[begin:place]), before)
    after = machine.evolve(before, records[place].event)
    # A prompt is rendered before its request is recorded, but messages may be recorded in the same transaction. So both
    # states are tried.
    texts = [prompt.text for state in (before, after) if (prompt := machine.prompt(state, request)) is not None]
    if not texts:
        if machine.is_child(after, request):
            cause = f"a child run answers the call {request.request_id!r}"
            hint = f"name a call of the child run {child_run(records[0].run, request.node)}"
            raise UsageProblem(cause, place="--prompt", hint=hint)
        cause = f"the step {request.step!r} calls no model"
        raise UsageProblem(cause, place="--prompt", hint="name a node of another step")
    rebuilt = next((text for text in texts if text.ref == request.prompt_hash), None)
    best = rebuilt or texts[0]
    messages = (("system", best.system), ("user", best.user))
    return SentPrompt(
        request_id=request.request_id,
        prompt_hash=request.prompt_hash,
        verified=rebuilt is not None,
        messages=tuple((role, text) for role, text in messages if text),
        cut=best.cut,
    )
