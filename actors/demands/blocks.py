"""Cuts a text into headings, list items, cells and paragraphs of prose; code, logs and quoted text are left out.

A block is a range of characters of the source, so that what is found in it can be pointed at. The time is linear in the
length of the text: patterns are matched against the bounded beginnings of lines.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from actors.demands.patterns import late

LINE_LENGTH_MAX = 2000
"""Characters at the beginning of a line by which it is recognised."""
HEADING_LENGTH_MAX = 80
"""Characters of a heading that has no markup, or only a colon or bold letters."""
NUMBERED_WORDS_MAX = 4
"""Words of a numbered line that is a heading, such as "3.1 Functional requirements"."""
WRAPPED_LENGTH_MIN = 60
"""Characters of a list item's line below which its author has not wrapped it."""

_FENCE = late(r"[ \t>]{0,12}(`{3,}|~{3,})")
_HEADING = late(r" {0,3}(?:#{1,6}\s+|h[1-6]\.\s+|=+\s+(?=.*\S\s+=+\s*$))(?P<name>.*\S)")
_BOLD = late(r"\s{0,3}(?:\*\*|__)(?P<name>[^*_]{1,80}?):?(?:\*\*|__)\s*:?\s*$")
_LABEL = late(r"\s{0,3}(?P<name>[A-Z][^.!?|:]{1,78}):\s*$")
_UNDERLINE = late(r"(?:={3,}|-{3,}|~{3,})\s*$")
_ITEM = late(
    r"(?P<indent>[ \t]{0,16})(?:[-=]>|[-*+•\u2013\u2014\u2023\u2192\u25aa\u25cf\u2610◦·]"
    r"|(?P<number>\(?\d{1,3}(?:\.\d{1,3}){0,3}[.)]"
    r"|\d{1,3}\.\d{1,3}(?:\.\d{1,3})?(?![ \t]+(?:is|are|was|has|will)\b)"
    r"|\(?[a-zA-Z][.)]|\(?[ivx]{1,4}\)|#\.|\(?(?:[A-Z]{1,5}-?|req)\d{1,3}\)?[:.)]))[ \t]+(?=\S)"
)
_INITIAL = late(r"\s*[A-Z]\. [A-Z][\w'-]+,?\s*")
"""A name with an initial, as below a letter."""
_BOX = late(r"\[(?P<mark>[ xX*-]?)\]\s+")
_RULE = late(r"\s{0,3}(?:[-*_=] ?){3,}\s*$")
_TRACE = late(
    r"\s*(?:Traceback \(most recent|File \"|at [\w$.<>/\\:]+[ (]|Caused by:|\.\.\. \d+ more|goroutine \d+|thread '"
    r"|panic:|Segmentation fault|npm ERR!|error\[E\d+\]|--> |\d+ \||fatal:|[\w.]*(?:Error|Exception"
    r"|Warning)\b(?::|\s*$))"
)
_LOG = late(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\].,\s]|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR"
    r"|FATAL|CRITICAL|TRACE)\b"
    r"[\]:\s]|[A-Z][a-z]{2} \d{1,2} \d\d:\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3} - )"
)
_SHELL = late(r"\s*(?:\$ |>>> |\.\.\. |PS [A-Z]:|[\w.-]+@[\w.-]+[:~$#]|[#%] (?:\w+ )+--)")
_CODE = late(
    r"\s*(?:[{}\[\]()]+[;,]?\s*$|(?:import|from|def|class|func|fn|var|let|const|public|private|return|if"
    r"|for|while) .*[:;{}()]\s*$"
    r"|[\w.\[\]\"']+ ?(?:=|\+=|:=) ?\S.*[;)\]}\"'\w]$|</?\w[^>]*>\s*$|(?:SELECT|INSERT|UPDATE|DELETE"
    r"|CREATE|ALTER) \S+ .*;?\s*$"
    r"|\S.*[;{}]\s*$|//|/\*|@\w+\()"
)
_NUMBERED = late(r"\d{1,2}(?:\.\d{1,2})*\.? [A-Z]")
_MAIL = late(r"(?:From|To|Cc|Bcc|Date|Sent|Reply-To|Message-ID|In-Reply-To|Content-Type): \S")
_SUBJECT = late(r"(?:Subject|Betreff|Title|Summary): +(?=\S)")
_CALLOUT = late(r"\s{0,3}>\s?(?:\[!\w+\]\s*)?")
_CELL = late(r"[^|]+")
_FOOTNOTE = late(r"\s*\[[^\]]{1,60}\]: \S+")
_SIGNATURE = late(r"-- ?$")


class BlockForm(StrEnum):
    """What a block is."""

    TITLE = "title"
    HEADING = "heading"
    LABEL = "label"
    ITEM = "item"
    CELL = "cell"
    PROSE = "prose"


class Block(NamedTuple):
    """A title, heading, label, list item, table cell or paragraph of a text."""

    form: BlockForm
    """What it is."""
    start: int
    """Where it begins in the text."""
    end: int
    """Where it ends."""
    depth: int = 0
    """The columns by which a list item is indented; of a heading its level, where its markup or number shows one."""
    ordered: bool = False
    """Whether a list item is numbered."""
    checked: bool = False
    """Whether the box of a list item is ticked: it is done."""
    row: int = 0
    """The row of a cell in its table, from 0."""
    column: int = 0
    """The column of a cell, from 0."""


class _Line(NamedTuple):
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def blocks(text: str, is_name: Callable[[str], bool]) -> Iterator[Block]:
    """Yield the blocks of a text in their order; a line of its own that `is_name` knows is a heading.

    A code block that is not closed extends to the end of the text.
    """
    cutter = _Cutter(text, is_name)
    for line, following in itertools.pairwise((*_lines(text), _Line(len(text), ""))):
        yield from cutter.take(line, line.text[:LINE_LENGTH_MAX], following.text[:LINE_LENGTH_MAX])
        if cutter.signed:
            break
    yield from cutter.close()


@dataclass(slots=True)
class _Cutter:
    """Takes the lines of a text, one after the other."""

    text: str
    is_name: Callable[[str], bool]
    block: Block | None = None
    """The block to which the next line may belong."""
    fence: str = ""
    """The marks that open the code block which is not closed yet."""
    callout: bool = False
    """Whether the quoted lines above are a call-out."""
    row: int = 0
    """The row of the table that the next line may belong to."""
    signed: bool = False
    """Whether the line before a signature has come."""

    def close(self) -> Iterator[Block]:
        """Yield the block that is complete, if there is one."""
        if self.block:
            yield self.block
        self.block = None

    def take(self, line: _Line, head: str, following: str) -> Iterator[Block]:
        """Take a line, and yield the blocks that are complete with it."""
        if not head.lstrip().startswith("|"):
            self.row = 0
        if self.fence or _FENCE.match(head):
            yield from self.close()
            self._take_fence(head)
        elif _SIGNATURE.match(head):
            yield from self.close()
            self.signed = True
        elif not head.strip() or _RULE.match(head) or _UNDERLINE.match(head):
            yield from self.close()
            self.callout = False
        elif self._is_left_out(head):
            yield from self.close()
        elif heading := _heading(head, following) or (self.block is None and _named(head, following, self.is_name)):
            yield from self.close()
            labels = not _HEADING.match(head) and (_LABEL.match(head) or head.rstrip("*_ ").endswith(":"))
            form = BlockForm.LABEL if labels else BlockForm.HEADING
            yield Block(form, line.start + heading[0], line.start + heading[1], depth=_level(head))
        elif head.lstrip().startswith("|"):
            yield from self.close()
            yield from _cells(line, self.row)
            self.row += 1
        elif (item := _ITEM.match(head)) and not _INITIAL.fullmatch(head):
            yield from self.close()
            name = head[item.end() :].strip()
            if item["number"] and not item["indent"] and name[-1:].isalpha() and self._names(name, following):
                level = item["number"].strip("().").count(".") + 1
                yield Block(BlockForm.HEADING, line.start + item.end(), line.end, depth=level)
                return
            self.block = None if _is_noise(head[item.end() :]) else _item(line, head, item)
        else:
            yield from self._take_prose(line, head)

    def _names(self, line: str, following: str) -> bool:
        """Tell whether a numbered line is a heading: it has a known name, or a paragraph follows at once."""
        if len(line.split()) > NUMBERED_WORDS_MAX or not line[0].isupper():
            return False
        follows = following.strip() and not following[0].isspace() and not _ITEM.match(following)
        return self.is_name(line) or bool(follows and following[0].isupper())

    def _take_fence(self, head: str) -> None:
        match = _FENCE.match(head)
        if match and (not self.fence or match[1].startswith(self.fence)):
            self.fence = "" if self.fence else match[1][:3]

    def _is_left_out(self, head: str) -> bool:
        """Tell whether others have said what a line says: it is quoted, or code, or a part of a log."""
        if head.lstrip().startswith(">"):
            self.callout = self.callout or "[!" in head  # A call-out ("> [!NOTE]") is the author's own.
            return not self.callout
        if _ITEM.match(head):
            return False
        code = self.block is None and head.startswith(("    ", "\t")) and _CODE.match(head)
        return bool(code) or _is_noise(head)

    def _take_prose(self, line: _Line, head: str) -> Iterator[Block]:
        subject = _SUBJECT.match(head)
        mark = subject or (_CALLOUT.match(head) if self.callout else None)
        begun = Block(
            BlockForm.TITLE if subject else BlockForm.PROSE, line.start + (mark.end() if mark else 0), line.end
        )
        block = self.block
        if block is not None and (block.form is BlockForm.TITLE or self._ends_item(block, head)):
            yield from self.close()
        self.block = self.block._replace(end=line.end) if self.block else begun

    def _ends_item(self, block: Block, head: str) -> bool:
        """Tell whether a line begins a paragraph after a list item, and is not a wrapped part of the item."""
        if block.form is not BlockForm.ITEM or head[0].isspace() or not (head[0].isupper() or head[0] in "\"'(`*"):
            return False
        written = self.text[block.start : block.end].rstrip()
        return ("\n" not in written and len(written) < WRAPPED_LENGTH_MIN) or written.endswith((".", "!", "?"))


def _lines(text: str) -> Iterator[_Line]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield _Line(start, line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029"))
        start += len(line)


def _heading(head: str, following: str) -> tuple[int, int] | None:
    """Return where the name of a heading stands in its line; None for a line that is no heading."""
    for pattern in (_HEADING, _BOLD, _LABEL):
        if match := pattern.match(head):
            return match.start("name"), match.end("name")
    plain = head.strip()
    if plain and _UNDERLINE.match(following) and len(plain) <= HEADING_LENGTH_MAX and not _ITEM.match(head):
        return 0, len(head)
    return None


def _named(head: str, following: str, is_name: Callable[[str], bool]) -> tuple[int, int] | None:
    plain = head.strip()
    short = len(plain.split()) <= NUMBERED_WORDS_MAX + 1 and len(plain) <= HEADING_LENGTH_MAX
    begins = plain[:1].isupper() or _NUMBERED.match(plain)
    if short and begins and ":" not in plain and plain[-1].isalnum() and (is_name(plain) or _ITEM.match(following)):
        return 0, len(head)
    return None


def _level(head: str) -> int:
    """Return the level of a heading with markup; 0 for one without."""
    marks = head.lstrip()
    return len(marks) - len(marks.lstrip("#"))


def _cells(line: _Line, row: int) -> Iterator[Block]:
    for column, match in enumerate(_CELL.finditer(line.text[:LINE_LENGTH_MAX])):
        if match[0].strip(" \t-:"):
            yield Block(BlockForm.CELL, line.start + match.start(), line.start + match.end(), row=row, column=column)


def _item(line: _Line, head: str, item: re.Match[str]) -> Block:
    box = _BOX.match(head, item.end())
    return Block(
        BlockForm.ITEM,
        line.start + (box.end() if box else item.end()),
        line.end,
        depth=len(item["indent"].expandtabs(4)),
        ordered=item["number"] is not None,
        checked=box is not None and box["mark"] in {"x", "X"},
    )


def _is_noise(head: str) -> bool:
    """Tell whether a line is a part of a log, a stack trace or a shell session, or the head of a message."""
    return any(pattern.match(head) for pattern in (_TRACE, _LOG, _SHELL, _MAIL, _FOOTNOTE))
