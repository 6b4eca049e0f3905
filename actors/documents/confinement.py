"""Confines this process for good: limits of time and memory, and no call that opens, connects or starts anything.

On Linux, a filter of system calls (seccomp) lets through only those of a computation over open files; every other one
fails with "operation not permitted". On every system, the process may open no file and no socket (`RLIMIT_NOFILE`), and
write no file.
"""

import ctypes
import errno
import os
import platform
import resource
import struct
import sys

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
"""The numbers of the calls that are let through: reading and writing what is open, memory, signals, clocks, the end."""
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.EPERM
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_OTHER_TABLE = 0x40000000


class NotConfined(Exception):
    """This system refuses the confinement; the text is the cause."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def confine(*, seconds: int, memory_bytes: int) -> None:
    """Confine this process and all that it would start, until its end.

    `seconds` are seconds of processor time, `memory_bytes` bytes of address space. Modules must be imported before.

    Raises:
        NotConfined: the system refuses.
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
            hard = resource.getrlimit(limit)[1]  # A stricter one is kept.
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
    """Return the filter as the kernel reads it: of another architecture it ends the process."""
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
