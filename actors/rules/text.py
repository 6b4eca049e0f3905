"""Splits a problem's text into lines of prose and of code, sections, passages, sentences and words.

The time is linear in the length of the text: patterns are matched only against lines and tokens of bounded length.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from actors.guards.fields import folded

READ_LENGTH_MAX = 200_000
"""Characters of a problem that are read, as many as a language model is shown; and of all that its user has added."""
READ_LINES_MAX = 10_000
"""Lines of a problem that are read, and of all that its user has added: short lines cost as much as long ones."""
LINE_LENGTH_MAX = 2000
"""Characters of a line that patterns are matched against."""
SENTENCE_LENGTH_MAX = 240
"""Characters of a quoted sentence."""
HEAD_LENGTH_MAX = 20_000
"""Characters at the start of each part by which a text is classified."""
WRAPPED_LENGTH_MIN = 60
"""Characters of a list item's line below which its author has not wrapped it."""
TITLE_LENGTH_MAX = 80
"""Characters of a title."""
TITLE_LENGTH_MIN = 25
"""Characters of a clause that may stand as a title by itself."""

_FENCE = re.compile(r" {0,3}(```+|~~~+)\s{0,20}([\w#+.-]*)")
_HEADING = re.compile(r"#{1,6} (.*)")
_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+•]|\d{1,3}[.)]|#\.|[a-z]\)) +(?=\S)")
_SENTENCE_END = re.compile(
    r"(?<=[.!?])[\"')`*]{0,3} (?=[\"'(`*]{0,3}[A-Z0-9])|(?<=\w [0-9]\.) (?=[a-z]{2})"  # "It gives 6, not 3. it should"
)
_CLAUSE_ENDS = ("; ", ": ", " - ", " \u2013 ", ", ", " (")
_CUT_SHORT = re.compile(
    r" (?:between \S+|[\d.,]+|an?|the|of|to|in|on|at|by|for|from|with|and|or|is|are|it|should|take)$"
)
_WORD = re.compile(r"[a-z0-9][a-z0-9_+#-]*")
_UNPRINTED = re.compile(r"[\x00\ud800-\udfff]")  # JSON, the journal and terminals cannot represent these.
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def lower(text: str) -> str:
    """Return the text with ASCII letters in lower case; unlike `str.lower` it keeps the positions of characters."""
    return text.translate(_LOWER)


@dataclass(frozen=True, slots=True)
class ProblemLine:
    """A line of the text."""

    text: str
    """The line without its line end."""
    code: bool
    """Whether it is in a fenced code block."""
    section: str
    """The heading of its section, folded and in lower case."""


@dataclass(frozen=True, slots=True)
class ProblemPassage:
    """A paragraph, or an item of a list."""

    text: str
    """Its text, folded."""
    item: bool
    """Whether it is an item of a list."""
    section: str
    """The heading of its section, or the line that introduces its list."""
    sentences: Sequence[str]
    """The sentences of its text."""


@dataclass(frozen=True)
class ProblemText:
    """A problem's text."""

    parts: tuple[str, ...]
    """The specification, and then the user's answers, requirements and notes."""
    headings: frozenset[str] = frozenset()
    """Names of sections, in lower case: a line that consists of such a name is a heading, also without markup."""
    ignored: frozenset[str] = frozenset()
    """Names of sections that are skipped."""

    @cached_property
    def lines(self) -> Sequence[ProblemLine]:
        """All lines of all parts."""
        parts = (_UNPRINTED.sub(" ", part) for part in self.parts)
        lines = (line for part in parts for line in (*_lines(part, self.headings), ProblemLine("", False, "")))
        return tuple(line for line in lines if line.section not in self.ignored)

    @cached_property
    def written(self) -> Sequence[ProblemLine]:
        """The lines that are not blank."""
        return tuple(line for line in self.lines if line.text and not line.text.isspace())

    @cached_property
    def distinct(self) -> Sequence[ProblemLine]:
        """The lines that are not blank, each different one once: a repeated line names nothing new."""
        return tuple({(line.text, line.code): line for line in self.written}.values())

    @cached_property
    def fences(self) -> Sequence[str]:
        """The info strings of the code blocks, in lower case."""
        matches = (_FENCE.match(line.text[:LINE_LENGTH_MAX]) for line in self.written if line.code)
        return tuple(match[2].lower() for match in matches if match and match[2])

    @cached_property
    def passages(self) -> Sequence[ProblemPassage]:
        """The passages of prose."""
        return tuple(_passages(self.lines))

    @cached_property
    def prose(self) -> str:
        """The whole prose, headings included, folded."""
        return folded("\n".join(line.text for line in self.written if not line.code))

    @cached_property
    def head(self) -> str:
        """The prose of the first pages of each part, folded: what a text is about is said there."""
        return replace(self, parts=tuple(part[:HEAD_LENGTH_MAX] for part in self.parts)).prose

    @cached_property
    def folded_parts(self) -> tuple[str, ...]:
        """The parts, folded."""
        return tuple(folded(part) for part in self.parts)

    def holds(self, quote: str) -> bool:
        """Return whether the text contains the quote literally, with white space folded."""
        folded_quote = folded(quote)
        return bool(folded_quote) and any(folded_quote in part for part in self.folded_parts)

    def quotes(self, candidates: Iterable[str], *, limit: int) -> tuple[str, ...]:
        """Return the first `limit` different candidates that the text contains."""
        seen: set[str] = set()
        kept: list[str] = []
        for quote in candidates:
            if quote not in seen and self.holds(quote):
                kept.append(quote)
                if len(kept) == limit:
                    break
            seen.add(quote)
        return tuple(kept)

    def title(self, generic: Iterable[str]) -> str:
        """Return the first sentence of the first heading that is not in `generic`, else of the prose, shortened."""
        names = frozenset(generic)
        prose = [folded(line.text[:LINE_LENGTH_MAX]) for line in self.written[:200] if not line.code][:40]
        marked = (match[1] for line in prose[:6] if (match := _HEADING.match(line)))
        for line in (*marked, *prose):
            plain = line.lstrip("#").strip(" *=_:")
            if plain and plain.lower() not in names:
                return headline(sentences(plain)[0].rstrip("."))
        return ""


def beginnings(parts: Iterable[str]) -> tuple[str, ...]:
    """Return what is read of the parts: together `READ_LENGTH_MAX` characters and `READ_LINES_MAX` lines at most."""
    kept: list[str] = []
    length, count = READ_LENGTH_MAX, READ_LINES_MAX
    for part in parts:
        lines = part[:length].splitlines(keepends=True)[:count]
        kept.append("".join(lines))
        length -= len(kept[-1])
        count -= len(lines)
    return tuple(kept)


def sentences(passage: str) -> list[str]:
    """Return the sentences of a folded passage."""
    return [sentence for part in _SENTENCE_END.split(passage) if (sentence := part.strip())]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(lower(text))


def shorten(text: str, length: int) -> str:
    """Return the text, or as many of its first words as fit; the result is a literal prefix of it."""
    if len(text) <= length:
        return text
    head, blank, _ = text[: length + 1].rpartition(" ")
    return head if blank and head else text[:length]


def headline(sentence: str) -> str:
    """Return the beginning of a sentence that may stand as a title: whole, or cut after a clause, or else after a word.

    It is a literal prefix, and no number is cut off from its unit.
    """
    if len(sentence) <= TITLE_LENGTH_MAX:
        return sentence
    head = sentence[:TITLE_LENGTH_MAX]
    for mark in _CLAUSE_ENDS:
        place = head.rfind(mark)
        if place >= TITLE_LENGTH_MIN:
            return head[:place]
    head = shorten(sentence, TITLE_LENGTH_MAX)
    while match := _CUT_SHORT.search(head):
        head = head[: match.start()]
    return head


def find(text: str, phrase: str) -> list[tuple[int, int]]:
    """Return (start, end) of the first three occurrences of a phrase in a lower-case text, at word boundaries.

    A final `*` matches any continuation of the last word; the occurrence covers the whole word.
    """
    stem, open_end = phrase.removesuffix("*"), phrase.endswith("*")
    occurrences: list[tuple[int, int]] = []
    start = text.find(stem)
    while start >= 0 and len(occurrences) < 3:
        end = start + len(stem)
        begins = start == 0 or not (stem[0].isalnum() and text[start - 1].isalnum())
        ends = open_end or end == len(text) or not (stem[-1].isalnum() and text[end].isalnum())
        if begins and ends:
            while open_end and end < len(text) and end - start < 60 and (text[end].isalnum() or text[end] == "-"):
                end += 1
            occurrences.append((start, end))
        start = text.find(stem, end)
    return occurrences


def _lines(part: str, headings: frozenset[str]) -> Iterable[ProblemLine]:
    """Yield the lines of one part; a code block that is not closed extends to the part's end."""
    fence, section = "", ""
    for text in part.splitlines():
        head = text[:LINE_LENGTH_MAX]
        match = _FENCE.match(head)
        if match and (not fence or match[1].startswith(fence)):
            fence = "" if fence else match[1]
            yield ProblemLine(text, True, section)
        elif fence:
            yield ProblemLine(text, True, section)
        else:
            if (name := _heading(head, headings)) is not None:
                section = name
            yield ProblemLine(text, False, section)


def _heading(line: str, headings: frozenset[str]) -> str | None:
    """Return the heading of a heading line, else None. A known name with a colon introduces a list, so it is none."""
    match = _HEADING.match(line)
    name = folded(match[1] if match else line).strip(" #*_=:").lower()
    return name if match or (name in headings and ":" not in line) else None


def _passages(lines: Sequence[ProblemLine]) -> Iterable[ProblemPassage]:
    gathered: list[str] = []
    item, section, label, announced = False, "", "", ""

    def close() -> Iterable[ProblemPassage]:
        nonlocal announced
        if gathered:
            text = folded(" ".join(gathered))
            passage = ProblemPassage(text, item, label or section, sentences(text))
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
        if line.code or not head.strip() or (head.startswith(("#", ">", "|")) and not bullet):
            yield from close()
            item = False
        elif bullet:
            yield from close()
            # "To reproduce:" before a list is used like a heading of the list.
            item, label = True, announced or label
            gathered.append(line.text[bullet.end() :])
        else:
            if item and head[0].isupper() and len(gathered) == 1 and len(gathered[0]) < WRAPPED_LENGTH_MIN:
                yield from close()  # A line after a short item that is not indented begins a paragraph.
            if not gathered:
                item = False
                label = label if head[0].isspace() else ""
            gathered.append(line.text)
    yield from close()
