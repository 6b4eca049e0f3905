"""Reading on a link that may break: a read changes nothing, so it is tried again for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

import psycopg

from runtime.journal.postgres.connecting import Link
from runtime.journal.postgres.failures import passes

T = TypeVar("T")

PAUSE_SECONDS = 0.05


def retried(work: Callable[[Link], T], seconds: float, link: Link) -> T:
    """Return what a read gives; try it again for so many seconds where an error passes. Raises `psycopg.Error`."""
    until = time.monotonic() + seconds
    while True:
        try:
            return work(link)
        except psycopg.Error as error:
            if not passes(error) or time.monotonic() > until:
                raise
        time.sleep(PAUSE_SECONDS)
