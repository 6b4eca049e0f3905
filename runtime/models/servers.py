"""What a home knows about the servers of its models: what they refuse, and what their errors cost."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from runtime.core.events import Value
from runtime.logs import log
from runtime.models.port import Fault
from runtime.models.providers import is_loopback
from runtime.models.refusals import DAY_SECONDS, Refusals

FILE_BYTES_MAX = 1024 * 1024
"""The largest number of bytes of the file; a larger one counts as empty."""
MODELS_MAX = 200
"""The largest number of models about which something is remembered; the latest are kept."""

_GATEWAY = frozenset({502, 504})
"""The HTTP statuses with which a gateway says that the server behind it gave no answer."""


class Learned(Value):
    """What was learned about one parameter."""

    way: str
    """How it is sent, as in `runtime.models.refusals.Ways`."""
    until: float
    """Until when this counts, in UTC seconds since 1970."""


class Known(Value):
    """The content of the file."""

    learned: Mapping[str, Mapping[str, Learned]] = {}
    """What was learned about parameters, by the server's address and the model's name, separated by a blank."""


class Servers:
    """What all runs of a home know about the servers of their models. It is kept in a file that processes share."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        refusals: Mapping[str, Refusals] | None = None,
        charge_gateway_errors: bool = True,
    ) -> None:
        """Take the path of the file.

        Args:
            path: None keeps everything in memory. A missing file is made when something is learned.
            refusals: what can be asked for in another way, by interface.
            charge_gateway_errors: whether a 502 or 504 is charged, unless the server is on this machine.
        """
        self._path, self._known = path, Known()
        self._refusals, self._charge_gateway_errors = refusals or {}, charge_gateway_errors

    def with_charge(self, fault: Fault, base_url: str) -> Fault:
        """Return a fault of a server, marked as unpaid where it is an error of a gateway that is not charged."""
        if fault.status not in _GATEWAY:
            return fault
        free = not self._charge_gateway_errors or is_loopback(urlsplit(base_url).hostname or "")
        return fault.model_copy(update={"unpaid": free})

    def refusals(self, interface: str) -> Refusals:
        """Return what can be asked for in another way."""
        return self._refusals.get(interface, {})

    def ways(self, base_url: str, model: str, now: float) -> dict[str, str]:
        """Return how parameters are sent for a model of a server. `now` is in UTC seconds since 1970."""
        return self.learned(now).get(f"{base_url} {model}", {})

    def learned(self, now: float) -> dict[str, dict[str, str]]:
        """Return what was learned in the last day, by address and model."""
        known = {
            key: {name: item.way for name, item in ways.items() if now < item.until <= now + DAY_SECONDS}
            for key, ways in self._read().learned.items()
        }
        return {key: ways for key, ways in known.items() if ways}

    def learn(self, base_url: str, model: str, changes: Mapping[str, str | None], now: float) -> None:
        """Remember for a day how parameters are sent for a model of a server; None forgets one."""
        key = f"{base_url} {model}"
        learned = {name: Learned(way=way, until=now + DAY_SECONDS) for name, way in changes.items() if way is not None}

        def add(known: Known) -> Known:
            others = {other: ways for other, ways in known.learned.items() if other != key}
            kept = {name: item for name, item in known.learned.get(key, {}).items() if name not in changes}
            rows = [*others.items(), (key, {**kept, **learned})][-MODELS_MAX:]
            return known.model_copy(update={"learned": dict(rows)})

        self._change(add)

    def _read(self) -> Known:
        if self._path is None:
            return self._known
        try:
            with self._path.open("rb") as file:
                self._known = _parse(file.read(FILE_BYTES_MAX + 1))
        except OSError:
            pass  # It is not there yet, or cannot be read: what this process has learned counts.
        return self._known

    def _change(self, change: Callable[[Known], Known]) -> None:
        """Change what is known. If the file cannot be written, only this process knows the change."""
        if self._path is None:
            self._known = change(self._known)
            return
        try:
            with _locked(self._path) as file:
                self._known = change(_parse(os.pread(file, FILE_BYTES_MAX + 1, 0)))
                os.ftruncate(file, 0)
                os.pwrite(file, self._known.model_dump_json().encode(), 0)
        except OSError as error:
            log.get_logger("replan.servers").warning(
                "the file about servers cannot be written", path=str(self._path), error=str(error)
            )
            self._known = change(self._known)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Yield the open file, which no other process changes meanwhile."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _parse(content: bytes) -> Known:
    """Return the content of the file; nothing for a content that is damaged, too large, or of another release."""
    try:
        return Known.model_validate_json(content) if len(content) <= FILE_BYTES_MAX else Known()
    except ValidationError:
        return Known()
