"""Progress on stderr while a run is driven: a live tree on a terminal, a line per event elsewhere, or nothing."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.segment import Segment

from actors.planning.events import PlanningEvent
from actors.planning.state import PlanningState, State
from actors.values.lines import Line, line
from replan.cli.terminal.console import err, notice, plain_terminal, rich_text, rich_tree
from replan.views.attempts import attempts
from replan.views.format import clock, counted, money
from replan.views.records import news_of
from replan.views.tree import search_tree
from runtime.core.cost import MICRO
from runtime.core.events import Record

__all__ = ["Lines", "LiveTree", "Progress", "Silence", "progress"]

REST = 3
"""Rows of the screen that the live tree leaves to the summary and the cursor."""


class Progress(Protocol):
    """Shows how a run gets on."""

    def on_record(self, record: Record[PlanningEvent], state: PlanningState) -> None:
        """Take in one record, and the state after it."""
        ...

    def note(self, text: str) -> None:
        """Say something to the user."""
        ...

    def tick(self) -> None:
        """Show that time has passed."""
        ...

    def pause(self) -> None:
        """Leave the screen alone, because the user is about to be asked."""
        ...

    def close(self) -> None:
        """Show the last state, and nothing more."""
        ...


class Silence:
    """Shows no progress; what the user must know is still said."""

    def on_record(self, record: Record[PlanningEvent], state: PlanningState) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Print the text."""
        notice(text)

    def tick(self) -> None:
        """Show nothing."""

    def pause(self) -> None:
        """Nothing is on the screen."""

    def close(self) -> None:
        """Nothing is on the screen."""


class Lines(Silence):
    """Prints a line for each event that is news."""

    def on_record(self, record: Record[PlanningEvent], state: PlanningState) -> None:
        """Print the event's line."""
        news = news_of(record.event, state.config if isinstance(state, State) else None)
        if news:
            err().print(rich_text(line(f"{clock(record.at)} {news}")))


class LiveTree:
    """Redraws the tree of attempts in place; refreshed by records and ticks only, so that no thread draws."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._state: PlanningState | None = None
        self._console = err()
        self._live = self._new()

    def on_record(self, record: Record[PlanningEvent], state: PlanningState) -> None:  # noqa: ARG002 -- the port's signature
        """Redraw, also after a pause."""
        self._state = state
        if not self._live.is_started:
            self._live = self._new()
            self._live.start()
        self.tick()

    def note(self, text: str) -> None:
        """Print the text above the tree."""
        self._console.print(rich_text(line(f"replan: {text}")))

    def tick(self) -> None:
        """Redraw, unless the screen is the user's."""
        if self._live.is_started:
            self._live.refresh()

    def pause(self) -> None:
        """Take the tree off the screen."""
        self._live.transient = True
        self._live.stop()

    def close(self) -> None:
        """Leave the last tree on the screen."""
        self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the newest lines of the tree that fit on the screen, and the summary."""
        if self._state is None:
            yield rich_text(line(self._title, "bold"))
            return
        tree = rich_tree(search_tree(self._title, attempts(self._state), brief=True))
        rows = console.render_lines(tree, options.update(height=None), pad=False)
        for row in rows[-max(3, console.height - REST) :]:
            yield from row
            yield Segment.line()
        yield rich_text(spent_line(self._state, time.time()))

    def _new(self) -> Live:
        return Live(
            self,
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )


def spent_line(state: PlanningState, now: float) -> Line:
    """Return how much of each limit is used."""
    ledger, limits = state.run.ledger, state.run.ledger.limits
    used = ledger.spent + ledger.unknown
    # Calls in flight count too, since the user waits for them.
    parts = [f"{ledger.committed.calls} of {counted(limits.calls, 'call')}"]
    parts.append(counted(used.tokens, "token") + (f" of {limits.tokens:,}" if limits.tokens else ""))
    known = isinstance(state, State) and state.config.price is not None
    cap = f" of {money(limits.micro_usd / MICRO)}" if limits.micro_usd else ""
    parts.append(money(used.micro_usd / MICRO if known else None) + cap)
    running = max(0.0, now - state.run.now) if isinstance(state, State) and state.working else 0.0
    parts.append(f"{ledger.active + running:.0f} s")
    return line(" · ".join(parts), "dim")


@contextmanager
def progress(title: str, *, silent: bool) -> Iterator[Progress]:
    """Yield the progress that fits stderr; nothing of it is left running."""
    shown: Progress
    if silent:
        shown = Silence()
    elif plain_terminal(sys.stderr):
        shown = Lines()
    else:
        shown = LiveTree(title)
    try:
        yield shown
    finally:
        shown.close()
