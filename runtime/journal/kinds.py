"""Kinds of runs and versions of a journal: the codec that reads the events of a kind, and what this release reads.

The journal knows nothing else about a kind. A process opens it with the codecs of the kinds that it knows; runs of
other kinds are listed, but can be neither read nor driven there.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from runtime.core.errors import JournalNewer, JournalUnreadable, KindUnknown
from runtime.core.events import Codec

E = TypeVar("E")

FIRST_KIND = "planning"
"""The kind of every run that was written before a journal stored kinds. Frozen: it is part of stored journals."""

FIRST_FORMAT = 1
"""The format version of those runs."""

Codecs = Mapping[str, Codec[Any]]
"""The codec of each kind, by the kind's name."""

Formats = Mapping[str, int]
"""The highest format version that a process can drive, by the kind's name."""


def codecs_by_kind(codecs: Codec[E] | Codecs) -> Codecs:
    """Return the codecs by kind; a single codec is the one of `FIRST_KIND`."""
    return {FIRST_KIND: codecs} if isinstance(codecs, Codec) else codecs


def codec_of(codecs: Codecs, run: str, kind: str, format: int) -> Codec[Any]:
    """Return the codec for a run of a kind in this format version. Raises `KindUnknown`."""
    codec = codecs.get(kind)
    if codec is None or codec.format < format:
        raise KindUnknown(run, kind, format, None if codec is None else codec.format)
    return codec


def drivable(formats: Formats | None, kind: str, format: int) -> bool:
    """Tell whether a process that can drive these formats can drive a run of this one; None stands for all."""
    return formats is None or format <= formats.get(kind, 0)


def check_drivable(formats: Formats | None, run: str, kind: str, format: int) -> None:
    """Raise `KindUnknown` unless the run is `drivable`."""
    if formats is not None and not drivable(formats, kind, format):
        raise KindUnknown(run, kind, format, formats.get(kind))


VERSION = 1
"""The version that this release writes; 1 is the first."""

BEFORE_FIRST = "written by an older development version, whose journals this one does not open"
"""Why a journal is refused whose tables are from before version 1."""


def check_version(place: str, version: int) -> None:
    """Raise `JournalNewer` for a version that a newer release has written."""
    if version > VERSION:
        raise JournalNewer(place, version, VERSION)


def before_first(place: str) -> JournalUnreadable:
    """Return the error for a journal of an older development version."""
    return JournalUnreadable(place, BEFORE_FIRST, "begin another home or database, or go on with that version")
