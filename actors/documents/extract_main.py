"""The program that reads one document in a process of its own: bytes on standard input, text on standard output.

It is called with the format (`python extract_main.py pdf`). It imports what the format needs, confines itself, and only
then reads a byte of the document. It writes one JSON object: `parts`, or `problem`, the cause in half a sentence.
"""

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

SECONDS_MAX = 30
"""Seconds of processor time for one document."""
SECONDS_ENOUGH = 20.0
"""Seconds of processor time after which a reader begins no further page or sheet."""
MEMORY_BYTES_MAX = 1024 * 1024 * 1024
"""Bytes of address space for one document."""
DOCUMENT_BYTES_MAX = 20 * 1024 * 1024
"""Bytes of one document."""
OUTPUT_BYTES_MAX = 12 * 1024 * 1024
"""Bytes of what is written."""
NOT_CONFINED = "the process that would read it cannot be confined here"
_CAUSE_CHARACTERS = 160


def main(wanted: str) -> None:
    """Read the document on standard input."""
    from actors.documents.confinement import NotConfined, confine  # noqa: PLC0415 - the path is set first
    from actors.documents.extract_archive import DocumentRefused, parts_of, prepare_readers  # noqa: PLC0415 - as above

    missing = prepare_readers(wanted)
    try:
        confine(seconds=SECONDS_MAX, memory_bytes=MEMORY_BYTES_MAX)
    except NotConfined as error:
        _write({"problem": f"{NOT_CONFINED}: {error}"})
        return
    try:
        content = _read_input()
        result: dict[str, Any] = {"parts": parts_of(wanted, content, missing)}
        if len(content) > DOCUMENT_BYTES_MAX:
            result = {"problem": f"it has more than {DOCUMENT_BYTES_MAX // 2**20} MiB"}
    except DocumentRefused as refused:
        result = {"problem": str(refused)}
    except MemoryError:
        result = {"problem": f"reading it needs more than {MEMORY_BYTES_MAX // 2**20} MiB of memory"}
    except RecursionError:
        result = {"problem": "it is nested too deeply"}
    except Exception as error:  # noqa: BLE001 - what a library raises for a damaged file is not declared anywhere
        result = {"problem": _cause(error)}
    _write(result)


def _cause(error: Exception) -> str:
    said = " ".join(str(error).split())[:_CAUSE_CHARACTERS]
    return f"it is damaged, or of another format ({type(error).__name__}{': ' if said else ''}{said})"


def _read_input() -> bytes:
    content = bytearray()
    while len(content) <= DOCUMENT_BYTES_MAX and (piece := os.read(0, 1024 * 1024)):
        content += piece
    return bytes(content)


def _write(result: dict[str, Any]) -> None:
    try:
        written = json.dumps(result).encode()
    except MemoryError:
        written = b""
    if not written or len(written) > OUTPUT_BYTES_MAX:
        written = json.dumps({"problem": f"its text has more than {OUTPUT_BYTES_MAX // 2**20} MiB"}).encode()
    while written:
        written = written[os.write(1, written) :]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    importlib.import_module("actors.documents.extract_main").main(sys.argv[1])
    # Nothing of this process is worth a clean end, and a library's clean-up may open files.
    os._exit(0)
