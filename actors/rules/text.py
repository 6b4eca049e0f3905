"""The problem's text, cut up once: lines of prose and of code, sections, sentences, words.

Everything here is linear in the length of the text: lines are read one by one, and patterns are only tried on lines and
tokens of bounded length.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from actors.guards.fields import folded

LINE_LENGTH_MAX = 2000  # patterns are tried on the first so many characters of a line
SENTENCE_LENGTH_MAX = 240
TITLE_LENGTH_MAX = 80

_FENCE = re.compile(r" {0,3}(```+|~~~+)\s{0,20}([\w#+.-]*)")
_HEADING = re.compile(r"#{1,6} (.*)")
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+]|\d{1,3}[.)]) +(?=\S)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')`*]{0,3} (?=[\"'(`*]{0,3}[A-Z0-9])")
_WORD = re.compile(r"[a-z0-9][a-z0-9_+#-]*")
_UNPRINTED = re.compile(r"[\x00\ud800-\udfff]")  # no JSON text, journal or terminal can hold these
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def lower(text: str) -> str:
    """Return the text with ASCII letters in lower case: places stay the same, unlike with `str.lower`."""
    return text.translate(_LOWER)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: as written, whether it is code, and the heading it stands under (lower case, folded)."""

    text: str
    code: bool
    section: str


@dataclass(frozen=True, slots=True)
class Passage:
    """Prose that belongs together: a paragraph, or one item of a list. White space is folded."""

    text: str
    item: bool
    section: str


@dataclass(frozen=True)
class Text:
    """A problem's text: the specification first, then the user's answers. `headings` are names of sections, lower case.

    A line that is nothing but one of these names is a heading even without markup. Sections in `ignored` are not read.
    """

    parts: tuple[str, ...]
    headings: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()

    @cached_property
    def lines(self) -> Sequence[Line]:
        """All lines of all parts."""
        parts = (_UNPRINTED.sub(" ", part) for part in self.parts)
        lines = (line for part in parts for line in (*_lines(part, self.headings), Line("", False, "")))
        return tuple(line for line in lines if line.section not in self.ignored)

    @cached_property
    def written(self) -> Sequence[Line]:
        """The lines that are not blank."""
        return tuple(line for line in self.lines if line.text and not line.text.isspace())

    @cached_property
    def fences(self) -> Sequence[str]:
        """The info string of each code block, lower case."""
        found = (_FENCE.match(line.text[:LINE_LENGTH_MAX]) for line in self.written if line.code)
        return tuple(match[2].lower() for match in found if match and match[2])

    @cached_property
    def passages(self) -> Sequence[Passage]:
        """The prose, passage by passage."""
        return tuple(_passages(self.lines))

    @cached_property
    def prose(self) -> str:
        """All prose, folded, one passage after the other, headings included."""
        return folded("\n".join(line.text for line in self.written if not line.code))

    @cached_property
    def _parts_folded(self) -> tuple[str, ...]:
        return tuple(folded(part) for part in self.parts)

    def holds(self, quote: str) -> bool:
        """Whether the quote stands in the text literally, white space folded."""
        sought = folded(quote)
        return bool(sought) and any(sought in part for part in self._parts_folded)

    def quotes(self, found: Iterable[str], *, limit: int) -> tuple[str, ...]:
        """Return the first `limit` different ones that stand in the text: nothing else is ever quoted."""
        seen: set[str] = set()
        kept: list[str] = []
        for quote in found:
            if quote not in seen and self.holds(quote):
                kept.append(quote)
                if len(kept) == limit:
                    break
            seen.add(quote)
        return tuple(kept)

    def title(self, generic: Iterable[str]) -> str:
        """Return the first heading that says something, else the first line of prose, cut to a readable length."""
        names = frozenset(generic)
        prose = [folded(line.text[:LINE_LENGTH_MAX]) for line in self.written[:200] if not line.code][:40]
        marked = (match[1] for line in prose[:6] if (match := _HEADING.match(line)))
        for line in (*marked, *prose):
            plain = line.lstrip("#").strip(" *=_:")
            if plain and plain.lower() not in names:
                return shorten(plain.rstrip("."), TITLE_LENGTH_MAX)
        return ""


def sentences(passage: str) -> list[str]:
    """Return the sentences of a folded passage."""
    return [sentence for sentence in (part.strip() for part in _SENTENCE_END.split(passage)) if sentence]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(lower(text))


def shorten(text: str, length: int) -> str:
    """Return the text, or as many of its first words as fit: what stays is still literal."""
    if len(text) <= length:
        return text
    head, blank, _ = text[: length + 1].rpartition(" ")
    return head if blank and head else text[:length]


def find(text: str, phrase: str) -> list[tuple[int, int]]:
    """Return the first three places (start, end) at which a phrase stands in a lower-case text, at word boundaries.

    A final `*` lets the last word go on, and the place covers the whole word.
    """
    stem, open_end = phrase.removesuffix("*"), phrase.endswith("*")
    found: list[tuple[int, int]] = []
    start = text.find(stem)
    while start >= 0 and len(found) < 3:
        end = start + len(stem)
        begins = start == 0 or not (stem[0].isalnum() and text[start - 1].isalnum())
        ends = open_end or end == len(text) or not (stem[-1].isalnum() and text[end].isalnum())
        if begins and ends:
            while open_end and end < len(text) and end - start < 60 and (text[end].isalnum() or text[end] == "-"):
                end += 1
            found.append((start, end))
        start = text.find(stem, end)
    return found


def _lines(part: str, headings: frozenset[str]) -> Iterable[Line]:
    """Yield the lines of one part; a fence that is never closed runs to the part's end."""
    fence, section = "", ""
    for text in part.splitlines():
        head = text[:LINE_LENGTH_MAX]
        match = _FENCE.match(head)
        if match and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
            yield Line(text, True, section)
        elif fence:
            yield Line(text, True, section)
        else:
            if (name := _heading(head, headings)) is not None:
                section = name
            yield Line(text, False, section)


def _heading(line: str, headings: frozenset[str]) -> str | None:
    """Return the heading that a line is. A known name with a colon only names the list after it, as a label."""
    match = _HEADING.match(line)
    name = folded(match[1] if match else line).strip(" #*_=:").lower()
    return name if match or (name in headings and ":" not in line) else None


def _passages(lines: Sequence[Line]) -> Iterable[Passage]:
    gathered: list[str] = []
    item, section, label, announced = False, "", "", ""

    def close() -> Iterable[Passage]:
        nonlocal announced
        if gathered:
            passage = Passage(folded(" ".join(gathered)), item, label or section)
            gathered.clear()
            announced = passage.text.strip(" *_:").lower() if not item and passage.text.endswith(":") else ""
            yield passage

    for line in lines:
        head = line.text[:LINE_LENGTH_MAX]
        bullet = None if line.code else _ITEM.match(head)
        if line.section != section:
            yield from close()
            item, section, label, announced = False, line.section, "", ""
            continue
        if line.code or not head.strip() or head.startswith(("#", ">", "|")):
            yield from close()
            item = False
        elif bullet:
            yield from close()
            # "To reproduce:" before a list names the list, as a heading would.
            item, label = True, announced or label
            gathered.append(line.text[bullet.end() :])
        else:
            if not gathered:
                item = False
                label = label if head[0].isspace() else ""
            gathered.append(line.text)
    yield from close()
