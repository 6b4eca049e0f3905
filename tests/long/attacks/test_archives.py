"""Archives of strangers: long lines, deep nesting and hostile names are refused in one line, in little memory."""

import gzip
import tracemalloc

import pytest

from runtime.journal.archive import reading
from tests.cli.conftest import home, replan  # noqa: F401
from tests.cli.test_bad_input import assert_refused

LINE_BYTES = 4 << 20
BEGUN = b'{"line":"archive","version":1,"release":"0","runs":["../../x"]}\n'
MUCH = gzip.compress(b"\0" * LINE_BYTES) * 20
FILES = {
    "a first line without an end": (MUCH, 2, "this is no archive"),
    "a first line that begins well": (gzip.compress(b'{"line":"archive","version":1,"x":"') + MUCH, 2, "no archive"),
    "a later line without an end": (gzip.compress(BEGUN) + MUCH, 9, "not one of an archive"),
    "many lines": (gzip.compress(b"{}\n" * 1_000_000), 2, "this is no archive"),
    "many later lines": (gzip.compress(BEGUN + b"{}\n" * 1_000_000), 9, "not one of an archive"),
    "a first line of many levels": (gzip.compress(b"[" * 1_000_000 + b"\n"), 2, "this is no archive"),
    "a later line of many levels": (gzip.compress(BEGUN + b'{"line":"run","x":' + b"[" * 1_000_000), 9, "not one of"),
    "an end that is missing, and a name that is a path": (gzip.compress(BEGUN), 9, "its end is missing"),
    "another beginning": (gzip.compress(b'{"kind":"begin","runs":["../../x"]}\n'), 2, "this is no archive"),
    "a number that is too large": (gzip.compress(b'{"line":"archive","version":' + b"9" * 5000 + b"}\n"), 2, "archive"),
    "bytes that are no text": (gzip.compress(b'{"line":"archive","version":1,"release":"\xff"}\n'), 2, "no archive"),
}


@pytest.mark.parametrize("command", ["show", "restore"])
@pytest.mark.parametrize("name", FILES)
def test_an_archive_that_is_none_is_refused_in_one_line_and_in_little_memory(
    name,
    command,
    replan,  # noqa: F811
    tmp_path,
    monkeypatch,
):
    content, code, words = FILES[name]
    monkeypatch.setattr(reading, "LINE_BYTES_MAX", LINE_BYTES)
    file = tmp_path / "other.replan.gz"
    file.write_bytes(content)
    replan("show", file)  # What is imported and kept for the first time does not count.
    tracemalloc.start()
    try:
        refused = replan(command, file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert_refused(refused, words, code=code)
    assert peak < 4 * LINE_BYTES
    assert [each.name for each in tmp_path.iterdir() if each.name not in ("home", file.name)] == []
