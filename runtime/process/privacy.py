"""Keeps the memory and the environment of this process from other processes of the same user.

A command that Replan starts runs as the same user. Without this, it could read the environment that this process was
started with, and so the key of a model server, from `/proc/PID/environ`, or attach a debugger.
"""

import ctypes
import sys
from functools import cache

_PR_SET_DUMPABLE = 4
"""The option of `prctl(2)`, from `linux/prctl.h`."""


@cache
def hide_process() -> bool:
    """Make this process unreadable to others of its user, once; return whether the system can do that.

    The process then leaves no core dump, and only root, or a process with `CAP_SYS_PTRACE`, can read its
    `/proc/PID/environ`, `/proc/PID/mem` and the like. A program that it executes is not affected. Linux only.
    """
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
