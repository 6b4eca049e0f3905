"""Reads a document in a separate confined process (`extract_main`), with limits for its time and output.

The process gets the open file as its standard input. It gets no environment variables, and cannot open files. The
process is killed if it reaches the time limit or the size limit of the output. A hostile file may control the process
that reads it, so the output is validated like any untrusted input.
"""

import base64
import binascii
import os
import re
import signal
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from replan_acquire.documents.extract_archive import FORMATS, READERS
from replan_acquire.documents.extract_main import DOCUMENT_BYTES_MAX, MEMORY_BYTES_MAX, OUTPUT_BYTES_MAX, SECONDS_MAX
from replan_acquire.documents.tables import COLUMNS_MAX, Row, place_rows, split_tables
from replan_acquire.documents.text_document import (
    FILE_BYTES_MAX,
    HTML,
    TABLES,
    TEXT,
    Document,
    html_lines,
    text_document,
)
from replan_acquire.quantities.numerals import decimal_mark, language_of
from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem

PLACE_CHARACTERS_MAX = 120
TEXT_CHARACTERS_MAX = 2 * 1024 * 1024
_PARTS_MAX = 1000
_BLOCKS_MAX = 100_000

_Place = Annotated[str, StringConstraints(max_length=PLACE_CHARACTERS_MAX)]
_Short = Annotated[str, StringConstraints(max_length=1000)]


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Text(_Value):
    kind: Literal["text", "plain", "html"]
    place: _Place
    text: str


class _Row(_Value):
    cells: tuple[str, ...]
    places: tuple[_Place, ...]
    numbers: tuple[int, ...] = ()
    """The numbers of the columns whose cells contain numbers. In the cell's text, such a number has a decimal point, in
    every language.
    """


class _Table(_Value):
    kind: Literal["table", "sheet"]
    rows: tuple[_Row, ...]
    merged: bool


_Block = Annotated[_Text | _Table, Field(discriminator="kind")]


class _Part(_Value):
    name: _Short
    problem: _Short = ""
    raw: str = ""
    title: _Short = ""
    language: Annotated[str, StringConstraints(max_length=40)] = ""
    blocks: tuple[_Block, ...] = Field(default=(), max_length=_BLOCKS_MAX)
    notices: tuple[_Short, ...] = Field(default=(), max_length=_PARTS_MAX)


class _Output(_Value):
    parts: tuple[_Part, ...] = Field(default=(), max_length=_PARTS_MAX)
    problem: _Short = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The documents of one file (the file itself, or those within it), and notices about parts that were not read."""

    documents: tuple[Document, ...]
    notices: tuple[str, ...]


def _read_extracted(name: str, output: bytes) -> Extracted:
    try:
        read = _Output.model_validate_json(output)
    except ValidationError:
        return Extracted((), (f"{name}: left out, because the reader ended without a result",))
    if read.problem:
        return Extracted((), (f"{name}: left out: {_one_line(read.problem)}",))
    documents: list[Document] = []
    notices: list[str] = []
    for part in read.parts:
        whole = f"{name}/{part.name}" if part.name else name
        notices += [f"{_one_line(whole)}: {_one_line(item)}" for item in (part.problem, *part.notices) if item]
        if part.raw:
            document, notice = _raw(whole, part.raw)
        else:
            document, notice = (_document(whole, part), "") if part.blocks else (None, "")
        documents += [document] if document is not None else []
        notices += [notice] if notice else []
    return Extracted(tuple(documents), tuple(notices))


def _one_line(text: str) -> str:
    return " ".join("".join(item if item.isprintable() else " " for item in text).split())[:400]


def _raw(name: str, encoded: str) -> tuple[Document | None, str]:
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        content = b"\x00"
    return text_document(_one_line(name), content[:FILE_BYTES_MAX])


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    places: tuple[tuple[int, str], ...]


def _document(name: str, part: _Part) -> Document:
    lines: list[_Line] = []
    size = 0
    comma = _has_commas(part)
    for block in part.blocks:
        for line in _lines(block, comma=comma):
            lines.append(line)
            size += len(line.text)
        if size > TEXT_CHARACTERS_MAX:
            break
    plain = "\n".join(line.text for line in lines)
    language = part.language.partition("-")[0].lower() if part.language.isascii() else ""
    language = language or language_of(plain)
    heading = next((line.text.strip("# ") for line in lines[:50] if line.text.startswith("#")), "")
    name = _one_line(name)
    return Document(
        name=name,
        title=(_one_line(part.title) or heading or name)[:200],
        lines=tuple((number, line.text) for number, line in enumerate(lines, 1)),
        decimal_mark=decimal_mark(plain, language),
        language=language,
        places=tuple(line.places for line in lines),
    )


def _has_commas(part: _Part) -> bool:
    if not any(block.kind == "sheet" for block in part.blocks):
        return False
    texts = [
        cell
        for block in part.blocks
        if isinstance(block, _Table)
        for row in block.rows
        for column, cell in enumerate(row.cells)
        if column not in row.numbers
    ]
    plain = "\n".join(texts)
    return decimal_mark(plain, part.language or language_of(plain)) == "comma"


_POINT = re.compile(r"(?<=\d)\.(?=\d)")


def _lines(block: _Text | _Table, *, comma: bool) -> Iterator[_Line]:
    if isinstance(block, _Table):
        yield from _table_lines(block, comma=comma)
    elif block.kind == "text":
        yield _Line(_normal(block.text), ((0, block.place),))
        yield _EMPTY
    else:
        numbered = html_lines(block.text) if block.kind == "html" else list(enumerate(block.text.splitlines(), 1))
        for number, text in numbered:
            yield _Line(_normal(text), ((0, f"{block.place}, line {number}"),) if text.strip() else ())
        yield _EMPTY


_EMPTY = _Line("", ())


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _table_lines(table: _Table, *, comma: bool) -> Iterator[_Line]:
    rows: list[Row] = []
    for number, row in enumerate(table.rows):
        cells = [" ".join(_normal(cell).split())[:1000] for cell in row.cells[:COLUMNS_MAX]]
        for column in row.numbers if comma else ():
            if 0 <= column < len(cells):
                cells[column] = _POINT.sub(",", cells[column], count=1)
        rows.append((number, cells))
    tables = split_tables(rows) if table.kind == "sheet" else [rows]
    for item in tables:
        for placed in place_rows(item, merged=table.merged):
            places = table.rows[placed.line].places
            marks = tuple((at, places[column]) for at, column in placed.cells if column < len(places))
            yield _Line(placed.text, marks)
            if table.kind == "sheet" and len(placed.cells) == 1:  # A note in a sheet is a paragraph of its own.
                yield _EMPTY
        yield _EMPTY


READER_PLUGINS = PluginGroup(
    "replan.readers",
    "a module with prepare() and read(content)",
    lambda value: all(callable(getattr(value, name, None)) for name in ("prepare", "read")),
    {suffix[1:]: READERS.get(FORMATS.get(suffix, ""), "") for suffix in sorted({*FORMATS, *TEXT, *HTML, *TABLES})},
)
"""The readers of document formats in installed distributions, by the suffix of the file's name without its dot.

`prepare()` imports everything that reading needs. Then the process is confined. `read(content)` turns the bytes of a
document into `{"title": ..., "language": ..., "blocks": [...], "notices": [...]}`. Only `blocks` is required. A block
is `{"kind": "text", "place": ..., "text": ...}`. If the kind is `html` or `plain`, the lines of the block's text are
numbered. For a damaged document, `read` may raise any error.
"""


def is_extracted(suffix: str) -> bool:
    """Return whether a file with this suffix, such as `.pdf`, is read in a separate process."""
    return suffix in FORMATS or READER_PLUGINS.find(suffix[1:]) is not None


def _reader_of(suffix: str) -> list[str]:
    """Return the command-line arguments for the process that reads a format.

    Raises `UsageProblem` if two plug-ins read the format.
    """
    if suffix in FORMATS:
        return [FORMATS[suffix]]
    name = suffix[1:]
    found = READER_PLUGINS.installed[name]
    return [name, found.the_one().value, found.place, *(folder for folder in sys.path if Path(folder).is_absolute())]


WALL_SECONDS_MAX = 90.0
"""The time limit for one document, in seconds. It exceeds the limit of processor time, because the machine may be busy.
"""
_PROGRAM = Path(__file__).with_name("extract_main.py")
_KEPT = 256


@lru_cache(maxsize=_KEPT)
def extract_file(path: Path, name: str, size: int, changed_ns: int) -> Extracted:
    """Return the documents of a file. `name` is the file's path within the folder of documents.

    The result is cached by the file's `size` in bytes and its modification time, `changed_ns`.
    """
    _ = size, changed_ns
    try:
        arguments = _reader_of(path.suffix.lower())
    except UsageProblem as refused:
        return Extracted((), (f"{name}: left out: {refused}",))
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return Extracted((), (f"{name}: cannot be read: {(error.strerror or str(error)).lower()}",))
    try:
        if os.fstat(descriptor).st_size > DOCUMENT_BYTES_MAX:
            return Extracted((), (f"{name}: left out: the file has more than {DOCUMENT_BYTES_MAX // 2**20} MiB",))
        output, problem = _run_process(arguments, descriptor)
    finally:
        os.close(descriptor)
    return Extracted((), (f"{name}: left out: {problem}",)) if problem else _read_extracted(name, output)


def _run_process(arguments: list[str], document: int) -> tuple[bytes, str]:
    """Return the output of the process, and why it failed. Exactly one of the two is empty."""
    process = subprocess.Popen(  # noqa: S603 - this interpreter, and a file of this package
        [sys.executable, "-I", "-X", "utf8", str(_PROGRAM), *arguments],
        stdin=document,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
    )
    slow = threading.Event()

    def end() -> None:
        slow.set()
        process.kill()

    clock = threading.Timer(WALL_SECONDS_MAX, end)
    clock.daemon = True
    clock.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            output = stream.read(OUTPUT_BYTES_MAX + 1)
        if len(output) > OUTPUT_BYTES_MAX:
            process.kill()
        code = process.wait()
    finally:
        clock.cancel()
        if process.poll() is None:
            process.kill()
            process.wait()
    if slow.is_set():
        return b"", f"reading the file takes longer than {WALL_SECONDS_MAX:g} s"
    if len(output) > OUTPUT_BYTES_MAX:
        return b"", f"the text of the file has more than {OUTPUT_BYTES_MAX // 2**20} MiB"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return b"", f"reading the file takes more than {SECONDS_MAX} s of processor time"
    if code:
        memory = f"reading the file may need more than {MEMORY_BYTES_MAX // 2**20} MiB of memory"
        return b"", f"the reader has failed (exit code {code}); {memory}"
    return output, ""
