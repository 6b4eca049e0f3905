"""The timeline of a run: a lane for each step or tool, with bars for calls, waits and questions. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from actors.run.calls import CallFailed, CallReissued, CallRequested, Replied, Settled
from actors.run.ending import RunFinished
from actors.run.ids import is_of_question, node_of, step_of
from actors.run.near_limit import LimitNear
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.tools import ToolFinished, ToolReissued, ToolRequested
from actors.run.waits import DEADLINE, WaitEnded, WaitRequested
from actors.run.words import in_words, step_in_words
from actors.values.format import format_count, money
from runtime.core.events import Record
from runtime.core.ledger import MICRO, ZERO, Amount
from runtime.logs.terminal_text import clean

LANES_MAX = 40
"""The largest number of lanes that the timeline draws. The table below the lanes has the bars of all lanes."""
WIDTH = 1000
"""The length of a lane, in units of the drawing. A lane stands for the whole duration of the run."""
LEAST = 2
"""The smallest length of a bar, in units of the drawing. A short bar that is closer than this to a bar of the same kind
is joined to it."""


@dataclass(frozen=True, slots=True)
class TimelineBar:
    """A model call, a tool call, a wait, a question, or a warning about a limit."""

    lane: str
    kind: str
    """`call`, `tool`, `wait`, `question` or `warning`."""
    name: str
    """The id of a model call or a question, the node of a tool call, or the text of a wait or a warning."""
    begin: float
    end: float | None = None
    """When the bar ended; None while it is under way."""
    how: str = ""
    """How the bar ended if it did not succeed; empty if it succeeded."""
    used: Amount = ZERO
    node: str = ""
    """The node of a model call, for the link to its attempt; empty for other kinds."""

    @property
    def words(self) -> str:
        """The bar's `name` in words."""
        return in_words(self.name)

    @property
    def lane_words(self) -> str:
        """The step or the tool of the bar's lane, in words."""
        return step_in_words(self.lane)


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A bar as a row of a table. Its texts are made when it is shown, because a page shows few of many rows."""

    bar: TimelineBar
    run_begin: float
    """When the run began, in UTC seconds since 1970."""
    price_known: bool
    """Whether the price of the model is known. Costs are shown only if the price is known."""

    @property
    def after(self) -> str:
        """The time from the beginning of the run to the beginning of the bar."""
        return seconds_text(self.bar.begin - self.run_begin)

    @property
    def took(self) -> str:
        """How long the bar lasted, or `under way`."""
        return "under way" if self.bar.end is None else seconds_text(self.bar.end - self.bar.begin)

    @property
    def cost(self) -> str:
        """The tokens and the money that the bar's call has used; empty if it has used neither."""
        return _cost(self.bar.used, self.price_known)


@dataclass(frozen=True, slots=True)
class DrawnBar:
    """A drawn bar of a lane. It may stand for several bars that are too close to tell apart."""

    kind: str
    x: float
    """Where the bar begins, in units of the drawing, from 0 to `WIDTH`."""
    length: float
    title: str


@dataclass(frozen=True, slots=True)
class TimelineLane:
    """The bars of a step or a tool."""

    name: str
    text: str
    drawn_bars: tuple[DrawnBar, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """All bars of a run."""

    lanes: tuple[TimelineLane, ...]
    """The first `LANES_MAX` lanes."""
    left_out: int
    """How many lanes are not drawn."""
    rows: tuple[TimelineRow, ...]
    ticks: tuple[str, ...]
    """The times at the beginning, the middle and the end of the lanes."""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the bars, for the legend."""
        return frozenset(row.bar.kind for row in self.rows)


def timeline(records: Iterable[Record[Any]], outstanding: Collection[str], *, price_known: bool) -> Timeline | None:
    """Return the timeline of a run; None if it has no bars. Calls and waits not in `outstanding` have ended."""
    bars, begin, last = _bars(records, outstanding)
    if not bars:
        return None
    return _draw(tuple(TimelineRow(bar, begin, price_known) for bar in bars), last)


def at_time(shown: Timeline, now: float) -> Timeline:
    """Return the timeline of an unfinished run at a later time. Bars that are under way last until `now`."""
    return shown if all(row.bar.end is not None for row in shown.rows) else _draw(shown.rows, now)


def _draw(rows: tuple[TimelineRow, ...], last: float) -> Timeline:
    """Return the timeline of a run that has lasted until `last`."""
    lanes: dict[str, list[TimelineRow]] = {}
    for row in rows:
        lanes.setdefault(row.bar.lane, []).append(row)
    begin = rows[0].run_begin
    drawn = [_lane(name, of, begin, last) for name, of in list(lanes.items())[:LANES_MAX]]
    ticks = tuple(seconds_text((last - begin) * part) for part in (0.0, 0.5, 1.0))
    return Timeline(tuple(drawn), max(0, len(lanes) - LANES_MAX), rows, ticks)


def _bars(records: Iterable[Record[Any]], outstanding: Collection[str]) -> tuple[list[TimelineBar], float, float]:
    bars: dict[str, _Begin] = {}
    ends: dict[str, tuple[float, str, Amount]] = {}
    begin = last = None

    def end(name: str, at: float, how: str, used: Amount = ZERO) -> None:
        if name in bars:
            ends.setdefault(name, (at, how, used))

    for record in records:
        at = last = max(record.at, last or record.at)
        begin = at if begin is None else begin
        match record.event:
            case CallRequested() as call:
                bars[call.request_id] = _call(call, at)
            case CallReissued(replaces=old, again=call):
                end(old, at, "broke off")
                bars[call.request_id] = _call(call, at)
            case Replied() as reply:
                end(reply.request_id, at, "cut off" if reply.ended_early else "", reply.used)
            case CallFailed() as failed:
                end(failed.request_id, at, str(failed.fault.kind).replace("_", " "))
            case Settled() as settled:
                end(settled.request_id, at, "came too late", settled.used)
            case ToolRequested() as tool:
                bars[tool.request_id] = _Begin(tool.tool, "tool", tool.node, at)
            case ToolReissued(replaces=old, again=tool):
                end(old, at, "broke off")
                bars[tool.request_id] = _Begin(tool.tool, "tool", tool.node, at)
            case ToolFinished() as done:
                end(done.request_id, at, "" if done.outcome == "succeeded" else str(done.outcome))
            case ClarificationRequested() as asked:
                bars[asked.question_id] = _Begin(asked.step, "question", asked.question_id, at)
            case ClarificationAnswered() | ClarificationDeclined() | ClarificationExpired() | ClarificationWithdrawn():
                end(record.event.question_id, at, record.event.kind.removeprefix("clarification_"))
            case WaitRequested() as wait if wait.request_id != DEADLINE and not is_of_question(wait.request_id):
                lane = step_of(wait.node or node_of(wait.request_id.partition(":")[2])) or "the run"
                bars[f"wait {wait.request_id}"] = _Begin(lane, "wait", clean(wait.why, one_line=True), at)
            case LimitNear() as near:
                bars[f"warning {record.seq}"] = _Begin("the run", "warning", near.text, at)
                end(f"warning {record.seq}", at, "")
            case WaitEnded() as ended:
                end(f"wait {ended.request_id}", at, "")
            case RunFinished():
                for name in bars:
                    end(name, at, "withdrawn")
            case _:
                pass
    shown = []
    for name, (lane, kind, text, at, node) in bars.items():
        until: float | None
        until, how, used = ends.get(name, (None, "", ZERO))
        if until is None and name.removeprefix("wait ") not in outstanding:
            until, how = at, "withdrawn"
        shown.append(TimelineBar(lane, kind, text, at, until, how, used, node))
    return shown, begin or 0.0, last or 0.0


class _Begin(NamedTuple):
    """The values of a bar that are known when it begins."""

    lane: str
    kind: str
    name: str
    at: float
    node: str = ""


def _call(call: CallRequested, at: float) -> _Begin:
    return _Begin(call.step, "call", call.request_id, at, node=node_of(call.request_id))


def _lane(name: str, rows: list[TimelineRow], begin: float, last: float) -> TimelineLane:
    """Return the lane of a step or tool. The run lasted from `begin` to `last`."""
    scale = WIDTH / max(last - begin, 0.001)
    kinds: dict[str, int] = {}
    drawn_bars: list[DrawnBar] = []
    for row in rows:
        bar = row.bar
        kinds[bar.kind] = kinds.get(bar.kind, 0) + 1
        end = last if bar.end is None else bar.end
        length = max(LEAST, (end - bar.begin) * scale)
        x = min((bar.begin - begin) * scale, WIDTH - length)
        before = drawn_bars[-1] if drawn_bars else None
        if (
            before is not None
            and before.kind == bar.kind
            and x - before.x - before.length < LEAST
            and length < WIDTH / 50
        ):
            length = max(before.length, x + length - before.x)
            drawn_bars[-1] = DrawnBar(bar.kind, before.x, round(length, 2), "several bars; see the table")
        else:
            title = ", ".join(filter(None, (bar.kind, bar.words, row.took, bar.how, row.cost)))
            drawn_bars.append(DrawnBar(bar.kind, round(max(0.0, x), 2), round(length, 2), title))
    seconds = sum((last if row.bar.end is None else row.bar.end) - row.bar.begin for row in rows)
    used = sum((row.bar.used for row in rows), Amount())
    counts = [format_count(number, "call" if kind == "tool" else kind) for kind, number in kinds.items()]
    text = ", ".join(filter(None, (*counts, seconds_text(seconds), _cost(used, rows[0].price_known))))
    return TimelineLane(step_in_words(name), text, tuple(drawn_bars))


def _cost(used: Amount, price_known: bool) -> str:
    parts = [format_count(used.tokens, "token")] if used.tokens else []
    if price_known and used.micro_usd:
        parts.append(money(used.micro_usd / MICRO))
    return ", ".join(parts)


def seconds_text(seconds: float) -> str:
    """Return a duration as a rounded text."""
    if seconds < 1:
        return f"{max(0, round(1000 * seconds))} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes} min {left} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
