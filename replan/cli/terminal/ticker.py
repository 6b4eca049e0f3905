"""Progress of long work on stderr: how much is done, how fast, and how long the rest will take."""

import sys
import time
from typing import Self

from actors.values.lines import line
from replan.cli.terminal.console import err, rich_text

NEWS_SECONDS = 10.0
"""The seconds between two lines of progress where there is no terminal."""


class Ticker:
    """Progress on stderr: one line that is rewritten on a terminal, else a line every few seconds."""

    def __init__(self, what: str) -> None:
        """`what` is counted, such as `trials`."""
        self._what = what
        self._live = sys.stderr.isatty()
        self._started = self._shown_at = time.monotonic()
        self._first: int | None = None

    def tick(self, done: int, of: int) -> None:
        """Show how many are done, and how long the others will take."""
        now = time.monotonic()
        if self._first is None:
            self._first = done
        if now - self._shown_at < (0.2 if self._live else NEWS_SECONDS):
            return
        self._shown_at = now
        rate = (done - self._first) / (now - self._started)
        estimate = f", {(of - done) / rate:.0f} s left" if rate > 0 else ""
        text = f"{done:,} of {of:,} {self._what}, {rate:.0f} a second{estimate}"
        if self._live:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
        else:
            err().print(rich_text(line(text)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the line."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
