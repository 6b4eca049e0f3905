"""Who drives a run: a process named so that another process of the same machine can tell whether it still lives.

A lease protects a run whose driver cannot be seen. Where the driver was a process of this machine and is certainly gone
(killed, or the machine was restarted), nobody has to wait for the lease to end.
"""

import os
import socket
from pathlib import Path

_PROC = Path("/proc")
_BOOT = _PROC / "sys/kernel/random/boot_id"


def identity() -> str:
    """Return this process's name: `HOST/PID/BIRTH`, where BIRTH tells apart processes that had the same number."""
    return f"{socket.gethostname()}/{os.getpid()}/{_birth(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Tell whether `owner` names a process of this machine that is certainly gone; False when in doubt."""
    parts = owner.rsplit("/", 2)
    if len(parts) != 3 or parts[0] != socket.gethostname() or not parts[1].isdigit():
        return False
    birth = parts[2]
    pid = int(parts[1])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False  # Somebody else's process has the number, or nobody can have it: no proof.
    return birth != _birth(pid)


def _birth(pid: int) -> str:
    """Return when a process started, in ticks since a boot that is named too; empty where the system does not say."""
    try:
        # The command's name, in brackets, may hold anything; the 22nd field is the 20th after it.
        ticks = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[19]
        return f"{_BOOT.read_text().strip()[:8]}.{ticks}"
    except (OSError, IndexError):
        return ""
