"""The name of a driver's process, which shows whether the process runs.

This module can also protect the memory and environment of its own process.

If the driver has certainly ended, another driver can take over its run before the lease ends. Only a process on the
same host, in the same boot and in the same PID namespace can be certain that the driver has ended. The boot is compared
because machines that share a home may have equal host names, and their first PID namespaces may have equal numbers. The
namespace is compared because each container numbers its processes itself.
"""

import os
import socket
import sys
from functools import cache
from pathlib import Path

from runtime.core.names import parts_of

_PROC = Path("/proc")
_BOOT = _PROC / "sys/kernel/random/boot_id"
_NAMESPACE = _PROC / "self/ns/pid"


def identity() -> str:
    """Return this process's name: `HOST/NAMESPACE/PID/BIRTH`, as `name_of` explains it."""
    return name_of(os.getpid())


def name_of(pid: int) -> str:
    """Return a process's name: `HOST/NAMESPACE/PID/BIRTH`.

    NAMESPACE distinguishes containers that count their processes separately. BIRTH distinguishes processes that had the
    same number. NAMESPACE or BIRTH is empty if the system does not provide it.
    """
    return f"{socket.gethostname()}/{_namespace()}/{pid}/{_birth(pid)}"


def is_dead(owner: str) -> bool:
    """Return whether `owner` names a process that has certainly ended; False when in doubt.

    A process of another boot is a case of doubt: either this machine has restarted, or the process is on another
    machine.
    """
    parts = parts_of(owner)
    if parts is None:
        return False
    host, namespace, number, birth = parts
    if (host, namespace, _boot_of(birth)) != (socket.gethostname(), _namespace(), _boot()):
        return False
    pid = int(number)
    if pid == 0:
        return False  # Not a process, but all of this process's group.
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False  # Another user's process has this PID, or the PID is out of range: no proof.
    current = _birth(pid)
    return bool(birth) and bool(current) and (current != birth or _has_ended(pid))


def end_of_group(name: str) -> bool | None:
    """Return whether the process group whose leader has this name has ended; None if this process cannot see the group.

    The group runs as long as one of its processes runs, even after its leader has ended. No new process gets the number
    of an existing group. So if the leader's number belongs to a process that started at another time, the group has
    ended.
    """
    parts = parts_of(name)
    if parts is None or parts[0] != socket.gethostname() or parts[1] != _namespace():
        return None
    if parts[3] and _boot_of(parts[3]) != _boot():
        return None
    pid = int(parts[2])
    if pid <= 1:
        return None
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return None
    birth = _birth(pid)
    if birth and parts[3] and birth != parts[3]:
        return True
    return not _group_lives(pid)


def _group_lives(group: int) -> bool:
    """Return whether a process of the group still runs. A zombie does not count."""
    try:
        numbers = [entry.name for entry in _PROC.iterdir() if entry.name.isdigit()]
    except OSError:
        return True  # The system does not say, and the group answered to its number.
    for number in numbers:
        try:
            stat = _stat(int(number))
        except (OSError, IndexError):
            continue
        if stat[2] == str(group) and stat[0] not in ("Z", "X"):
            return True
    return not numbers


def _namespace() -> str:
    """Return the number of this process's PID namespace; empty if the system does not provide it."""
    try:
        return str(_NAMESPACE.readlink()).removeprefix("pid:").strip("[]")
    except OSError:
        return ""


def _birth(pid: int) -> str:
    """Return `BOOT.TICKS`: the id of the boot, and the time from the boot to the process's start; empty if unknown."""
    try:
        return f"{_boot()}.{_stat(pid)[19]}"
    except (OSError, IndexError):
        return ""


def _boot() -> str:
    """Return an id that is unique to this boot of this machine; empty if the system does not provide one."""
    try:
        return _BOOT.read_text().strip()[:8]
    except OSError:
        return ""


def _boot_of(birth: str) -> str:
    return birth.partition(".")[0]


def _has_ended(pid: int) -> bool:
    """Return whether a process is a zombie: it has ended, but its parent has not read the exit code."""
    try:
        return _stat(pid)[0] in ("Z", "X")
    except (OSError, IndexError):
        return False


def _stat(pid: int) -> list[str]:
    # The command's name, in brackets, may hold anything. These are the third field and the fields after it.
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


_PR_SET_DUMPABLE = 4
"""The number of the option `PR_SET_DUMPABLE` of the system call `prctl(2)`, from `linux/prctl.h`."""


@cache
def hide_process() -> bool:
    """Make the memory and environment of this process unreadable to other processes of its user, once.

    Return whether the system supports this. The process then leaves no core dump if it crashes. Only root, or a process
    with `CAP_SYS_PTRACE`, can read its `/proc/PID/environ`, `/proc/PID/mem` and the like. A program that it executes is
    not affected. Linux only.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415 -- most commands do not need it

    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
