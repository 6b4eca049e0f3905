"""The gate of a command: a script that waits for permission and then executes the command.

It is run by path, never imported.

`gate.py GATE REPORT ADDED PROGRAM [ARGUMENT ...]`: GATE is the file descriptor of a pipe that the script reads. A byte
is the permission. If the pipe is closed without a byte, the starting process has ended, and the program never runs.
REPORT is the descriptor of a pipe to which the error number is written if the program cannot be executed. ADDED is the
name of an environment variable that this Python has added and the script removes; may be empty.
"""

import os
import sys


def main() -> None:
    """Wait for a byte from the pipe, then execute the program in this process."""
    gate, report, added, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    if not os.read(gate, 1):
        return
    os.close(gate)
    os.set_inheritable(report, False)
    if added:
        os.environ.pop(added, None)
    try:
        os.execvp(program[0], program)  # noqa: S606 - no shell is meant to read the arguments
    except OSError as error:
        os.write(report, str(error.errno).encode())


if __name__ == "__main__":
    main()
