"""Shows the progress of a run on stderr.

A terminal gets a live tree; other outputs get a line for each important event.
"""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment

from actors.run.calls import Replied
from actors.run.kind import Kind
from actors.run.near_limit import LimitNear
from actors.run.words import in_words
from actors.values.format import clock
from actors.values.lines import line, reword_tree
from replan.cli.terminal.console import err, notice, plain_terminal, rich_text, rich_tree
from runtime.core.events import Record
from runtime.logs.terminal_text import clean
from runtime.models.watched import LiveReply

FIRST_SECONDS = 30.0
"""The age of an open call, in seconds, at which the first line about the call is printed. Each later line is printed at
twice the age of the line before, but at most `GAP_SECONDS_MAX` seconds later.
"""
GAP_SECONDS_MAX = 60.0


LiveNow = Callable[[], Mapping[str, LiveReply]]


@dataclass
class _Flight:
    since: float
    due: float


class CallsInFlight:
    """The open calls of a run, with their ages in this process."""

    def __init__(self, replies: LiveNow = dict, now: Callable[[], float] = time.monotonic) -> None:
        self._replies, self._now = replies, now
        self._open: dict[str, _Flight] = {}

    def set_open(self, requests: Collection[str]) -> None:
        """Set which calls are open. `requests` has the ids of all open requests."""
        now = self._now()
        self._open = {name: self._open.get(name) or _Flight(now, FIRST_SECONDS) for name in requests}

    def all(self) -> list[tuple[str, str]]:
        """Return two texts for each open call, the oldest call first: one about the call, and its reply so far."""
        replies = self._replies()
        return [
            (self._text(name, flight, replies), replies[name].text if name in replies else "")
            for name, flight in self._open.items()
        ]

    def due(self) -> list[str]:
        """Return a text about each open call for which a line must be printed now."""
        texts, replies = [], self._replies()
        for name, flight in self._open.items():
            age = self._now() - flight.since
            if age >= flight.due:
                texts.append(self._text(name, flight, replies))
                while flight.due <= age:
                    flight.due += min(flight.due, GAP_SECONDS_MAX)
        return texts

    def _text(self, name: str, flight: _Flight, replies: Mapping[str, LiveReply]) -> str:
        came = f", {replies[name].characters:,} characters so far" if name in replies else ""
        return f"{name} under way for {self._now() - flight.since:.0f} s{came}"


REST = 3
"""The number of rows on the screen that the live view of the tree leaves free for the summary and the cursor."""
ROWS_MAX = 30
"""The largest number of rows that the live view draws of the tree."""
ROWS_MIN = 4
"""The number of rows that the live view has for the tree even on a screen that is too small for them."""
TOLD_SECONDS = 1.0
"""The line about a reply shows the duration of its call only if the call took at least this many seconds."""
ROOM_MIN = 20
"""The end of an incomplete reply is shown only if the line about its call has room for at least this many
characters."""
IN_FLIGHT_MAX = 4
"""The largest number of open calls that the live view shows below the tree, with their ages."""


class Progress(Protocol):
    """Shows the progress of a run."""

    def on_record(self, record: Record[Any], state: Any) -> None:
        """Show a record. `state` is the state after the record."""

    def note(self, text: str) -> None:
        """Show a notice."""

    def tick(self) -> None:
        """Update the parts of the display that depend on the time."""

    def pause(self) -> None:
        """Remove the display before a question to the user."""

    def close(self) -> None:
        """Show the last state of the run, and end the display."""


class Silence:
    """Shows no progress, only notices."""

    def on_record(self, record: Record[Any], state: Any) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Print the text."""
        notice(text)

    def tick(self) -> None:
        """Show nothing."""

    def pause(self) -> None:
        """Do nothing, because nothing is displayed."""

    def close(self) -> None:
        """Do nothing, because nothing is displayed."""


class LineProgress(Silence):
    """Prints a line for each important event, and now and then a line about each call that takes long."""

    def __init__(self, kind: Kind[Any, Any], in_flight: CallsInFlight, worded: Callable[[str], str] = in_words) -> None:
        self._kind, self._in_flight, self._worded = kind, in_flight, worded
        self._took: dict[str, float] = {}
        self._warnings: list[str] = []

    def on_record(self, record: Record[Any], state: Any) -> None:
        """Print a line about the event. A warning about a limit is printed at the beginning of the next line."""
        self._in_flight.set_open(_open_calls(self._kind, state))
        event = record.event
        if isinstance(event, Replied) and event.elapsed >= TOLD_SECONDS:
            self._took[event.node] = event.elapsed
        for text in event.notices if isinstance(event, Replied) else ():
            err().print(rich_text(line(f"{clock(record.at)} {text}")))
        text = self._kind.views.news_text(event, state)
        if isinstance(event, LimitNear):
            self._warnings.append(text)
        elif text:
            took = self._took.pop(getattr(event, "node", None) or "", None)
            after = "" if took is None else f", after {took:.0f} s"
            shown = "; ".join((*self._warnings, f"{self._worded(text)}{after}"))
            self._warnings.clear()
            err().print(rich_text(line(f"{clock(record.at)} {shown}")))

    def close(self) -> None:
        """Print the warnings that were not printed yet."""
        for text in self._warnings:
            err().print(rich_text(line(f"{clock(time.time())} {text}")))
        self._warnings.clear()

    def tick(self) -> None:
        """Print a line about each call for which a line is due."""
        for text in self._in_flight.due():
            err().print(rich_text(line(f"{clock(time.time())} {self._worded(text)}", "dim")))


class LiveTree:
    """Redraws the tree of the run in place. Only records and ticks redraw it, so no thread is needed."""

    def __init__(
        self,
        kind: Kind[Any, Any],
        title: str,
        in_flight: CallsInFlight,
        worded: Callable[[str], str] = in_words,
    ) -> None:
        self._kind, self._title, self._in_flight, self._worded = kind, title, in_flight, worded
        self._left = False
        self._state: Any = None
        self._records: list[Record[Any]] = []
        self._clock_offset = 0.0
        self._console = err()
        self._live = self._new()

    def on_record(self, record: Record[Any], state: Any) -> None:
        """Redraw the tree with the record. If the display was paused, the tree appears again."""
        self._state, self._clock_offset = state, time.time() - time.monotonic()
        self._in_flight.set_open(_open_calls(self._kind, state))
        self._records.append(record)
        for text in record.event.notices if isinstance(record.event, Replied) else ():
            self.note(text)
        if isinstance(record.event, LimitNear):
            self.note(record.event.text)
        if not self._live.is_started:
            self._live = self._new()
            self._live.start()
        self.tick()

    def note(self, text: str) -> None:
        """Print the text above the tree."""
        self._console.print(rich_text(line(f"replan: {text}")))

    def tick(self) -> None:
        """Redraw the tree, unless the display is paused."""
        if self._live.is_started:
            self._live.refresh()

    def pause(self) -> None:
        """Remove the tree from the screen."""
        self._live.transient = True
        self._live.stop()

    def close(self) -> None:
        """End the display.

        The tree stays on the screen, unless a result that lists the same steps is printed afterwards.
        """
        self._in_flight.set_open(())
        self._left = True
        self._live.transient = self._kind.views.brief_has_tree and sys.stdout.isatty()
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the title, the newest lines of the tree that fit on the screen, and the summary."""
        if self._state is None:
            yield rich_text(line(self._title, "bold"))
            return
        views = self._kind.views
        tree = views.tree(self._title, self._state, self._records, interrupted=self._left, brief=True)
        rows = console.render_lines(
            rich_tree(reword_tree(tree.tree, self._worded)), options.update(height=None), pad=False
        )
        calls = self._in_flight.all()[:IN_FLIGHT_MAX]
        room = min(ROWS_MAX, max(ROWS_MIN, console.height - REST - len(calls)))
        hidden = len(rows) - room + 2 if len(rows) > room else 0
        for position, row in enumerate(rows):
            if position == 1 and hidden:
                yield rich_text(line(f"… {hidden} lines are not shown", "dim"))
            if not 1 <= position <= hidden:
                yield from row
                yield Segment.line()
        for text, written in calls:
            yield rich_text(line(_with_end(self._worded(text), written, console.width), "dim"))
        # A clock that is set between two records does not change the active time that is shown.
        yield rich_text(views.progress(self._state, self._clock_offset + time.monotonic()))

    def _new(self) -> Live:
        return Live(
            self,
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )


def _with_end(text: str, written: str, width: int) -> str:
    room = width - len(text) - 4
    end = clean(written[-width:], one_line=True)[-room:] if room >= ROOM_MIN else ""
    return clean(f"{text}: …{end}", width=width) if end else text


def _open_calls(kind: Kind[Any, Any], state: Any) -> Collection[str]:
    run = kind.run_state(state)
    return () if run is None or run.finished is not None else run.calls.open


@contextmanager
def progress(
    kind: Kind[Any, Any], title: str, replies: LiveNow, *, silent: bool, full: bool = False
) -> Iterator[Progress]:
    """Yield a progress display for stderr, and close it at the end of the block. With `full`, the display shows ids."""
    display: Progress
    in_flight = CallsInFlight(replies)
    worded: Callable[[str], str] = str if full else in_words
    if silent:
        display = Silence()
    elif plain_terminal(sys.stderr):
        display = LineProgress(kind, in_flight, worded)
    else:
        display = LiveTree(kind, title, in_flight, worded)
    try:
        yield display
    finally:
        display.close()
