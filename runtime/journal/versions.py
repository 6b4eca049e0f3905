"""The numbers by which several releases can use one journal side by side. Pure.

*Schema* is the version of a store's tables. A release only adds to them, and removes one release later what no release
in use needs any more; so the tables also say which schema a program must know at least. *Codec* is the version of what
records and messages may contain. A run has one codec from its creation to its end. New runs get the journal's *floor*,
which `replan journal upgrade` raises once all programs know the higher codec.
"""

from collections.abc import Sequence
from typing import NamedTuple

from runtime.core.errors import FloorRaised, RunNewer, UsageProblem
from runtime.core.owner import describe

FIRST_CODEC = 1
"""The codec of every run that was written before journals stored codecs."""

CODEC = 2
"""The highest codec that this release reads and writes.

In codec 2 answers say on which way they came, and policies may have a belief.
"""


def check_readable(run: str, codec: int, known: int) -> None:
    """Raise `RunNewer` for a run whose codec a process that knows codecs up to `known` cannot read."""
    if codec > known:
        raise RunNewer(run, codec, known)


def check_floor(where: str, floor: int, known: int) -> None:
    """Raise `FloorRaised` where a process that knows codecs up to `known` may not write to the journal any more."""
    if floor > known:
        raise FloorRaised(where, floor, known)


class Host(NamedTuple):
    """A host that serves the journal now."""

    owner: str
    """The name of its process, as in leases."""
    codec: int
    """The highest codec that it knows."""


class Versions(NamedTuple):
    """What a journal is on."""

    schema: int
    """The version of its tables."""
    floor: int
    """The codec of new runs."""


def check_raisable(where: str, hosts: Sequence[Host], codec: int) -> None:
    """Raise `UsageProblem` while hosts serve the journal that do not know a codec, which is to become the floor."""
    older = sorted({describe(host.owner) for host in hosts if host.codec < codec})
    if older:
        hint = "stop them, then repeat the command; nothing of the floor was changed"
        cause = f"hosts of an earlier release serve this journal, so its floor cannot be raised: {', '.join(older)}"
        raise UsageProblem(cause, place=where, hint=hint)
