"""The program that reads one document in a separate process: bytes on standard input, text on standard output.

The program is called with the format (`python extract_main.py pdf`). If a plug-in reads the format, more arguments
follow: the plug-in's module, its name, and the folders with its packages. The program imports what the format needs,
and confines itself before it reads any byte of the document. The program writes a JSON object with `parts`, or with
`problem` (the reason why the document cannot be read).

The confinement limits time and memory. The process cannot open files or sockets (`RLIMIT_NOFILE`), and cannot write
files. On Linux, a filter of system calls (seccomp) allows only the calls that a computation over open files needs.
Every other call fails with "operation not permitted".
"""

import ctypes
import errno
import importlib
import json
import os
import platform
import resource
import struct
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

_CALLS = {
    "x86_64": (
        *(0, 1, 3, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20, 24, 25, 28, 35, 39, 60, 63, 96, 98, 99, 100, 131, 186, 201),
        *(202, 204, 219, 228, 229, 230, 231, 273, 318, 324, 334),
    ),
    "aarch64": (
        *(57, 62, 63, 64, 66, 73, 80, 93, 94, 98, 99, 101, 113, 114, 115, 123, 124, 128, 132, 134, 135, 139, 153),
        *(160, 165, 169, 172, 178, 179, 214, 215, 216, 222, 226, 233, 278, 283, 293),
    ),
}
"""For each processor architecture: the numbers of the allowed system calls. They read and write open files, and concern
memory, signals, clocks and the exit."""
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_OTHER_TABLE = 0x40000000


class NotConfined(Exception):
    """The system cannot confine the process. The message is the cause."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(*, seconds: int, memory_bytes: int) -> None:
    """Confine this process until it ends. The process must have imported all modules that it needs.

    `seconds` limits the processor time, and `memory_bytes` the address space.

    Raises:
        NotConfined: the system refuses the limits or the filter.
    """
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_AS: memory_bytes,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    try:
        for limit, wanted in limits.items():
            hard = resource.getrlimit(limit)[1]  # A stricter limit is kept.
            value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(limit, (value, value))
    except (OSError, ValueError) as error:
        raise NotConfined(str(error)) from None
    if sys.platform == "linux" and platform.machine() in _CALLS:
        _filter_calls(platform.machine())


def _filter_calls(machine: str) -> None:
    system = ctypes.CDLL(None, use_errno=True)
    rules = _rules(machine)
    program = _Program(len(rules) // 8, rules)
    if system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or system.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise NotConfined(f"seccomp: {os.strerror(ctypes.get_errno())}")


def _rules(machine: str) -> bytes:
    """Return the filter of system calls in the kernel's form.

    The filter kills the process if a system call comes from another machine architecture.
    """
    calls = _CALLS[machine]
    rows = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, len(calls), 0, _OTHER_TABLE),
        *((_EQUAL, len(calls) - position, 0, call) for position, call in enumerate(calls)),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("HBBI", *row) for row in rows)


SECONDS_MAX = 30
"""The limit of processor time for one document, in seconds."""
SECONDS_ENOUGH = 20.0
"""The seconds of processor time after which a reader stops before the next page or sheet."""
MEMORY_BYTES_MAX = 1024 * 1024 * 1024
"""The limit of address space for one document, in bytes."""
DOCUMENT_BYTES_MAX = 20 * 1024 * 1024
OUTPUT_BYTES_MAX = 12 * 1024 * 1024
NOT_CONFINED = "the process that reads documents cannot be confined on this system"
_CAUSE_CHARACTERS = 160


def main(wanted: str, module: str = "", plugin: str = "") -> None:
    """Read the document on standard input, and write the result to standard output.

    `module` and `plugin` are the module and the name of the plug-in that reads the document; both are empty for the
    readers of this package.
    """
    from replan_acquire.documents.extract_archive import DocumentRefused, prepare_readers, read_parts  # noqa: PLC0415 - as above

    prepare_readers(wanted)
    try:
        reader = _prepare(module) if module else None
    except Exception as error:  # noqa: BLE001 - the distribution's own code runs here
        message = " ".join(str(error).split())[:_CAUSE_CHARACTERS]
        _write({"problem": f"the reader {plugin} cannot be loaded: {type(error).__name__}: {message}"})
        return
    try:
        confine(seconds=SECONDS_MAX, memory_bytes=MEMORY_BYTES_MAX)
    except NotConfined as error:
        _write({"problem": f"{NOT_CONFINED}: {error}"})
        return
    try:
        content = _read_input()
        parts = read_parts(wanted, content) if reader is None else [{**reader.read(content), "name": ""}]
        result: dict[str, Any] = {"parts": parts}
        if len(content) > DOCUMENT_BYTES_MAX:
            result = {"problem": f"the file has more than {DOCUMENT_BYTES_MAX // 2**20} MiB"}
    except DocumentRefused as refused:
        result = {"problem": str(refused)}
    except MemoryError:
        result = {"problem": f"reading the file needs more than {MEMORY_BYTES_MAX // 2**20} MiB of memory"}
    except RecursionError:
        result = {"problem": "the file is nested too deeply"}
    except Exception as error:  # noqa: BLE001 - what a library raises for a damaged file is not declared anywhere
        result = {"problem": _cause(error)}
    _write(result)


def _prepare(module: str) -> Any:
    reader = resolve_name(module)
    reader.prepare()
    return reader


def _cause(error: Exception) -> str:
    message = " ".join(str(error).split())[:_CAUSE_CHARACTERS]
    return f"the file is damaged, or it has another format ({type(error).__name__}{': ' if message else ''}{message})"


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
        problem = f"the text of the file has more than {OUTPUT_BYTES_MAX // 2**20} MiB"
        written = json.dumps({"problem": problem}).encode()
    while written:
        written = written[os.write(1, written) :]


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.path += [folder for folder in sys.argv[4:] if folder not in sys.path]
    importlib.import_module("replan_acquire.documents.extract_main").main(*sys.argv[1:4])
    # The process ends at once: it has nothing to clean up, and the clean-up of a library may open files.
    os._exit(0)
