"""A command of the same user cannot read what the driver was started with (S2)."""

import subprocess
import sys

_DRIVER = """
import ctypes, os, sys
sys.path[:] = {path!r}
import trio
from contextlib import suppress
from pathlib import Path
from runtime.process.group import start_gated
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # The change of user has hidden it; a program that is started is readable.

def seen():
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            with open(f"/proc/{{os.getppid()}}/environ", "rb") as file:
                os.write(writing, file.read())
        except OSError as error:
            os.write(writing, type(error).__name__.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        return file.read()

async def start():
    with suppress(PermissionError):  # The other user may not execute this Python.
        async with start_gated(["true"], folder=Path("/"), environment={{}}):
            pass

print(b"sk-secret" in seen())
trio.run(start)
print(seen())
"""


def test_a_command_cannot_read_the_environment_of_the_driver():
    """From the start of the first command on; before it, the environment can be read, else the test shows nothing."""
    script = _DRIVER.format(path=sys.path)
    environment = {"OPENAI_API_KEY": "sk-secret"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["True", "b'PermissionError'"], done.stderr
