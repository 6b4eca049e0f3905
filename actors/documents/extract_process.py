"""Reads a document in a confined process of its own (`extract_main`), within limits of time and of output.

The process gets the open file as its standard input and no environment variables, and it may open nothing. Its output
is read up to a size limit. The process is killed when it reaches that limit or the time limit.
"""

import os
import signal
import subprocess
import sys
import threading
from functools import lru_cache
from pathlib import Path

from actors.documents.extract_archive import FORMATS
from actors.documents.extract_main import DOCUMENT_BYTES_MAX, MEMORY_BYTES_MAX, OUTPUT_BYTES_MAX, SECONDS_MAX
from actors.documents.extract_output import Extracted, read_extracted

WALL_SECONDS_MAX = 90.0
"""Seconds for one document by the clock: more than its processor time, for the machine may be busy."""
_PROGRAM = Path(__file__).with_name("extract_main.py")
_KEPT = 256


@lru_cache(maxsize=_KEPT)
def extract_file(path: Path, name: str, size: int, changed_ns: int) -> Extracted:
    """Return the documents of a file; `name` is its path within the folder of documents.

    The result is cached by the file's `size` in bytes and its modification time, `changed_ns`.
    """
    _ = size, changed_ns
    wanted = FORMATS[path.suffix.lower()]
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return Extracted((), (f"{name}: cannot be read: {(error.strerror or str(error)).lower()}",))
    try:
        if os.fstat(descriptor).st_size > DOCUMENT_BYTES_MAX:
            return Extracted((), (f"{name}: left out: it has more than {DOCUMENT_BYTES_MAX // 2**20} MiB",))
        output, problem = _run_process(wanted, descriptor)
    finally:
        os.close(descriptor)
    return Extracted((), (f"{name}: left out: {problem}",)) if problem else read_extracted(name, output)


def _run_process(wanted: str, document: int) -> tuple[bytes, str]:
    """Return the output of the process and an empty text, or no output and the cause of the failure."""
    process = subprocess.Popen(  # noqa: S603 - this interpreter, and a file of this package
        [sys.executable, "-I", "-X", "utf8", str(_PROGRAM), wanted],
        stdin=document,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
    )
    slow = threading.Event()

    def end() -> None:
        slow.set()
        process.kill()

    clock = threading.Timer(WALL_SECONDS_MAX, end)
    clock.daemon = True
    clock.start()
    try:
        assert process.stdout is not None
        with process.stdout as stream:
            output = stream.read(OUTPUT_BYTES_MAX + 1)
        if len(output) > OUTPUT_BYTES_MAX:
            process.kill()
        code = process.wait()
    finally:
        clock.cancel()
        if process.poll() is None:
            process.kill()
            process.wait()
    if slow.is_set():
        return b"", f"reading it takes longer than {WALL_SECONDS_MAX:g} s"
    if len(output) > OUTPUT_BYTES_MAX:
        return b"", f"its text has more than {OUTPUT_BYTES_MAX // 2**20} MiB"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return b"", f"reading it takes more than {SECONDS_MAX} s of processor time"
    if code:
        memory = f"it may need more than {MEMORY_BYTES_MAX // 2**20} MiB of memory"
        return b"", f"its reader has failed (exit code {code}); {memory}"
    return output, ""
