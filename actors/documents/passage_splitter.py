"""Cuts a document into passages at its paragraphs, and remembers the lines and the heading of each."""

from collections.abc import Iterator

from actors.documents.folder import Document
from actors.documents.passages import NAME_CHARACTERS_MAX, PASSAGE_CHARACTERS_MAX, Passage, storable

PASSAGE_CHARACTERS = 900
"""Characters from which a passage ends at the next paragraph."""


def passages_of(document: Document) -> Iterator[Passage]:
    """Yield the passages of a document in its order."""
    heading = ""
    lines: list[tuple[int, str]] = []
    size = 0
    under = ""

    def made() -> Passage | None:
        text = storable("\n".join(line for _, line in lines).strip("\n"))
        if not text.strip():
            return None
        title = document.title if under in {"", document.title} else f"{document.title}: {under}"
        return Passage(
            document.name,
            title[:NAME_CHARACTERS_MAX],
            text,
            lines[0][0],
            lines[-1][0],
            document.decimal_mark,
            document.language,
        )

    for number, line in _short_lines(document):
        is_heading = line.startswith("#")
        full = size + len(line) + 1 > PASSAGE_CHARACTERS_MAX
        ends = (not line.strip() and size >= PASSAGE_CHARACTERS) or (is_heading and size > 0)
        if (full or ends) and lines:
            if passage := made():
                yield passage
            lines, size = [], 0
        if is_heading:
            heading = line.strip("# ")[:200]
        if not lines:
            if not line.strip():
                continue
            under = heading
        lines.append((number, line))
        size += len(line) + 1
    if lines and (passage := made()):
        yield passage


def _short_lines(document: Document) -> Iterator[tuple[int, str]]:
    """Yield the lines, one that is too long for a passage in pieces that end between words."""
    for number, line in document.lines:
        rest = line
        while len(rest) >= PASSAGE_CHARACTERS_MAX:
            cut = rest.rfind(" ", PASSAGE_CHARACTERS, PASSAGE_CHARACTERS_MAX - 1)
            cut = cut if cut > 0 else PASSAGE_CHARACTERS_MAX - 2
            yield number, rest[:cut]
            rest = rest[cut:].lstrip() if cut else ""
        yield number, rest
