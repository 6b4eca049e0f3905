"""Limits the files that a program may write, with Landlock (Linux 5.13 or newer).

Replan runs this module as a script, by its path, and imports `abi`.

`write_confinement.py COUNT PATH ... PROGRAM [ARGUMENT ...]`: executes the program. The program, and all programs that
it starts, can write, create and remove files only below the COUNT paths. These programs can read everything that their
user may read. Paths that do not exist are ignored.
"""

import ctypes
import os
import stat
import struct
import sys

CANNOT = 125
"""The exit code of this script if the program cannot be confined or executed."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts")
"""The devices to which every confined program may write."""
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVILEGES = 38
_VERSION = 1
_WRITE_FILE = 1 << 1
_IN_FOLDERS = sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14


def abi() -> int:
    """Return the version of Landlock in this kernel; 0 if the kernel has no Landlock."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE, None, 0, _VERSION)))


def _confine(paths: "list[str]") -> None:
    """Permanently allow this process to write only below the given paths. Raises `OSError`."""
    system, version = ctypes.CDLL(None, use_errno=True), abi()
    in_files = _WRITE_FILE | (_TRUNCATE if version >= 3 else 0)
    all_access = in_files | _IN_FOLDERS | (_REFER if version >= 2 else 0)
    attribute = struct.pack("=Q", all_access)
    rules = _check_syscall(system.syscall(_CREATE, attribute, len(attribute), 0))
    for path in paths:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            continue
        allowed = all_access if stat.S_ISDIR(os.fstat(handle).st_mode) else in_files
        _check_syscall(system.syscall(_ADD, rules, 1, struct.pack("=Qi", allowed, handle), 0))
        os.close(handle)
    _check_syscall(system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _check_syscall(system.syscall(_RESTRICT, rules, 0))
    os.close(rules)


def _check_syscall(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def main() -> None:
    """Confine this process, and then replace it by the program."""
    count = int(sys.argv[1])
    paths, program = sys.argv[2 : 2 + count], sys.argv[2 + count :]
    try:
        _confine([*paths, *DEVICES])
        os.execv(program[0], program)  # noqa: S606 - no shell is meant to read the arguments
    except OSError as error:
        sys.stderr.write(f"the program cannot be confined or executed: {error.strerror}\n")
        sys.exit(CANNOT)


if __name__ == "__main__":
    main()
