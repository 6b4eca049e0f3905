"""Divides documents into passages that end at the end of a paragraph, and writes the result of a search. Pure."""

import json
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from replan_acquire.documents.text_document import Document
from replan_acquire.quantities.numerals import DecimalMark, decimal_mark, language_of
from runtime.core.events import make_storable

PASSAGES_MAX = 10
PASSAGE_CHARACTERS_MAX = 1500
NAME_CHARACTERS_MAX = 500
NOTICES_MAX = 20
"""The largest number of notices in the result of one search. If there are more notices, one more line states how many
are left out."""
QUERY_CHARACTERS_MAX = 400


class SearchFault(StrEnum):
    """Why a search failed."""

    DOWN = "search.down"  # no connection, or it broke
    SLOW = "search.slow"  # no answer within the time limit
    REFUSED = "search.refused"  # a status that is no success
    REDIRECTED = "search.redirected"  # redirects are not followed
    NOT_JSON = "search.not_json"  # such as an HTML page
    TOO_LARGE = "search.too_large"  # over the limit of an answer
    PRIVATE_ADDRESS = "search.private_address"  # the service's name leads into a private network
    NO_FOLDER = "search.no_folder"  # the folder of documents is not there any more


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document. The text is data for the model, never an instruction."""

    source: str
    """The file's path within its folder, or the address of a page."""
    title: str
    text: str
    first_line: int = 1
    """The line of the file in which the passage begins, from 1."""
    last_line: int = 1
    """The line of the file in which the passage ends."""
    decimal_mark: DecimalMark = ""
    """The decimal mark of the document; empty if it is unknown."""
    language: str = ""
    """The language of the document as a code; empty if it is unclear."""
    places: tuple[tuple[int, str], ...] = ()
    """Pairs: an offset in the text, and the name of the document's place that begins there, such as `page 2, box 72 90
    520 104`.
    """


def search_output(passages: Sequence[Passage], notices: Sequence[str], searched: int) -> str:
    """Return the result of a search as JSON: passages (best first), notices, and the number of searched documents."""
    shown = list(notices[:NOTICES_MAX])
    if len(notices) > len(shown):
        shown.append(f"{len(notices) - len(shown)} more files are left out or read in part")
    content = {"passages": [asdict(passage) for passage in passages], "notices": shown, "searched": searched}
    return json.dumps(content, ensure_ascii=False)


def clean_text(text: str) -> str:
    """Return a text without zero bytes and lone surrogates, because JSON and the journal cannot store them."""
    return make_storable(text.replace("\x00", "\ufffd"))


PASSAGE_CHARACTERS = 900
"""Once a passage has at least this many characters, it ends at the end of its paragraph."""


def found_passage(source: str, title: str, text: str, place: str = "") -> Passage:
    """Return a passage that a search service or an MCP server has found, cut to the limits for passages."""
    text, place = clean_text(text)[:PASSAGE_CHARACTERS_MAX], clean_text(place)[:100]
    language = language_of(text)
    return Passage(
        clean_text(source)[:NAME_CHARACTERS_MAX],
        clean_text(title)[:NAME_CHARACTERS_MAX],
        text,
        decimal_mark=decimal_mark(text, language),
        language=language,
        places=((0, place),) if place else (),
    )


def passages_of(document: Document) -> Iterator[Passage]:
    """Yield the passages of a document, in order."""
    heading = ""
    lines: list[_Line] = []
    size = 0
    under = ""

    def make() -> Passage | None:
        text = clean_text("\n".join(line.text for line in lines).rstrip("\n"))
        if not text.strip():
            return None
        title = document.title if under in {"", document.title} else f"{document.title}: {under}"
        return Passage(
            document.name,
            title[:NAME_CHARACTERS_MAX],
            text,
            lines[0].number,
            lines[-1].number,
            document.decimal_mark,
            document.language,
            _places(lines),
        )

    for line in _short_lines(document):
        is_heading = line.text.startswith("#")
        is_empty = not line.text.strip()
        full = size + len(line.text) + 1 > PASSAGE_CHARACTERS_MAX
        ends = (is_empty and size >= PASSAGE_CHARACTERS) or (is_heading and size > 0)
        if (full or ends) and lines:
            if passage := make():
                yield passage
            lines, size = [], 0
        if is_heading:
            heading = line.text.strip("# ")[:200]
        if not lines:
            if is_empty:
                continue
            under = heading
        lines.append(line)
        size += len(line.text) + 1
    if lines and (passage := make()):
        yield passage


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    text: str
    places: tuple[tuple[int, str], ...]


def _places(lines: Sequence[_Line]) -> tuple[tuple[int, str], ...]:
    found: list[tuple[int, str]] = []
    at = 0
    for line in lines:
        found += [(at + offset, place) for offset, place in line.places]
        at += len(line.text) + 1
    return tuple(found)


def _short_lines(document: Document) -> Iterator[_Line]:
    """Yield the lines of a document. A line that is too long for a passage is divided between words."""
    for position, (number, line) in enumerate(document.lines):
        places = document.places[position] if document.places else ((0, f"line {number}"),) if line.strip() else ()
        rest, at = unicodedata.normalize("NFC", line), 0
        while len(rest) >= PASSAGE_CHARACTERS_MAX:
            cut = rest.rfind(" ", PASSAGE_CHARACTERS, PASSAGE_CHARACTERS_MAX - 1)
            cut = cut if cut > 0 else PASSAGE_CHARACTERS_MAX - 2
            yield _Line(number, rest[:cut], _places_after(places, at))
            left = rest[cut:].lstrip() if cut else ""
            at += len(rest) - len(left)
            rest = left
        yield _Line(number, rest, _places_after(places, at))


def _places_after(places: tuple[tuple[int, str], ...], at: int) -> tuple[tuple[int, str], ...]:
    """Return the places in the rest of a line, from an offset on.

    The first returned place is the one that contains the offset.
    """
    before = [place for offset, place in places if offset <= at]
    return (*(((0, before[-1]),) if before else ()), *((offset - at, place) for offset, place in places if offset > at))
