"""A demand: something that the user's own text asks for, found by the program and not by an author of artifacts."""

from typing import NamedTuple

from actors.values.requirements import RequirementKind, RequirementSource

DEMANDS_MAX = 200
"""Demands that are read in one text; a text with more is said to have more."""


class Demand(NamedTuple):
    """One thing that a text asks for."""

    id: str
    """Made from the quote by `requirement_id`: the same as that of a requirement with this quote."""
    kind: RequirementKind
    """What the reader takes it for."""
    quote: str
    """The words of the source, white space folded."""
    source: RequirementSource
    """Whether the problem, a word of the user or an answer asks for it."""
    start: int
    """Where it begins, in characters of the source text."""
    end: int
    """Where it ends."""


class DemandReading(NamedTuple):
    """What a text asks for, and what of the text could not be read."""

    demands: tuple[Demand, ...]
    """In the order of the text, each quote once; `DEMANDS_MAX` at most."""
    unread: str
    """A plain sentence about the part that was not read: another language, or too long a text; else empty."""
