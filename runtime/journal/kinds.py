"""The codecs of the kinds of runs, the formats that a process can drive, and the version of a journal's tables.

A codec is all that a journal knows about a kind. A process opens a journal with the codecs of the kinds that it knows.
It can list runs of other kinds, but cannot read or drive them.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from runtime.core.errors import JournalNewer, JournalUnreadable, KindUnknown
from runtime.core.events import Codec

E = TypeVar("E")

FIRST_KIND = "planning"
"""The kind of every run that was written before a journal stored kinds. Frozen: it is part of stored journals."""

FIRST_FORMAT = 1
"""The format version of the runs of `FIRST_KIND` from before formats were stored."""

Codecs = Mapping[str, Codec[Any]]
"""The codec of each kind, by the kind's name."""

Formats = Mapping[str, int]
"""The highest format version that a process can drive, by the kind's name."""


def codecs_by_kind(codecs: Codec[E] | Codecs) -> Codecs:
    """Return codecs by kind; a single codec is that of `FIRST_KIND`."""
    return {FIRST_KIND: codecs} if isinstance(codecs, Codec) else codecs


def codec_of(codecs: Codecs, run: str, kind: str, format: int) -> Codec[Any]:
    """Return the codec for a run of a kind in this format version. Raises `KindUnknown`."""
    codec = codecs.get(kind)
    if codec is None or codec.format < format:
        raise KindUnknown(run, kind, format, None if codec is None else codec.format)
    return codec


def drivable(formats: Formats | None, kind: str, format: int) -> bool:
    """Tell whether a process that can drive these formats can drive a run of this kind and format; None for all."""
    return formats is None or format <= formats.get(kind, 0)


def check_drivable(formats: Formats | None, run: str, kind: str, format: int) -> None:
    """Raise `KindUnknown` for a run that is not `drivable`."""
    if formats is not None and not drivable(formats, kind, format):
        raise KindUnknown(run, kind, format, formats.get(kind))


VERSION = 1
"""The version of the journals that this release writes; 1 is the first."""

BEFORE_FIRST = "written by an older development version, whose journals this one does not open"
"""The cause in the error about a journal from before version 1."""


def check_version(place: str, version: int) -> None:
    """Raise `JournalNewer` for a journal whose version is newer than this release's."""
    if version > VERSION:
        raise JournalNewer(place, version, VERSION)


def before_first(place: str) -> JournalUnreadable:
    """Return the error for a journal of an older development version."""
    return JournalUnreadable(place, BEFORE_FIRST, "begin another home or database, or go on with that version")
