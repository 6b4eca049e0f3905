"""A reader of a page, who pastes its commands into one shell, and compares what they print with what the page shows."""

import os
import re
import select
import signal
import subprocess
import sys
from itertools import groupby
from pathlib import Path

from tests.docs.blocks import Block

RUN_ID = "k7m2x9qa"
"""The run id that pages show; it stands for any other."""
SERVER = "http://localhost:11434/v1"
"""The address that pages give for a model server on the reader's machine; it stands for that of the test's server."""
SECONDS_MAX = 60
REST = "..."
"""On a line of its own: lines that are left out. At the end of a line: words that are left out."""
VARIES = re.compile(
    rf"(?P<id>{RUN_ID})|(?P<time>\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ)|(?P<clock>\d\d:\d\d:\d\d)"
    r"|(?P<tokens>[\d,]+(?= tokens at most))"
)
"""The parts of a shown line that differ between runs: ids, points in time, and reserved tokens, which depend on the
prompt. The tutorial says so."""
ALLOWED = {
    "id": "[a-z2-9]{8}",
    "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",
    "clock": r"\d\d:\d\d:\d\d",
    "tokens": r"[\d,]+",
}
"""What may be printed in their places."""


def pattern(shown):
    """Return the pattern of the lines that a shown line stands for."""
    line, result, end = shown.removesuffix(REST), "", 0
    for match in VARIES.finditer(line):
        result += re.escape(line[end : match.start()]) + ALLOWED[match.lastgroup]
        end = match.end()
    return re.compile(result + re.escape(line[end:]) + (".*" if shown.endswith(REST) else ""))


def same(line):
    """Return a line without the alignment of its columns."""
    return " ".join(line.split())


def matches(shown, printed):
    """Tell whether the lines of a page are these lines of the output, in any order: concurrent steps have none."""
    unmatched = list(printed)
    for line in sorted(shown, key=lambda line: line.endswith(REST)):
        match = next((text for text in unmatched if pattern(line).fullmatch(text)), None)
        if match is None:
            return False
        unmatched.remove(match)
    return True


def difference(shown, printed):
    """Return the shown lines that were not printed one after the other, or None if all were."""
    printed_lines = [same(line) for line in printed.splitlines() if line.strip()]
    shown_lines = [same(line) for line in shown.splitlines() if line.strip()]
    begin = 0
    for rest, lines in groupby(shown_lines, key=REST.__eq__):
        part = list(lines)
        if rest:
            continue
        starts = range(begin, len(printed_lines) - len(part) + 1)
        place = next((start for start in starts if matches(part, printed_lines[start : start + len(part)])), None)
        if place is None:
            return part
        begin = place + len(part)
    return None


class Reader:
    """Follows one page from top to bottom in a shell of its own; `folder` is empty, and is the reader's home."""

    def __init__(self, folder, commands, server=SERVER):
        self.folder, self.server = folder / "empty", server
        self.folder.mkdir()
        self._script, self._output = folder / "pasted", folder / "printed"
        # Without PYTHONUNBUFFERED, as in most shells: it would change the order of what both streams print.
        hidden = {"REPLAN_HOME", "REPLAN_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PYTHONUNBUFFERED"}
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment |= {
            "PATH": os.pathsep.join((str(commands), str(Path(sys.executable).parent), os.environ["PATH"])),
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            "COLUMNS": "400",
            "NO_COLOR": "1",
        }
        self.printed, self._shell = "", None
        self.environment = environment

    def __enter__(self):
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # so that everything that a page starts can be ended
        )
        self._type("set -euo pipefail")
        return self

    def __exit__(self, *_):
        os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.stdin.close()
        self._shell.stdout.close()
        self._shell.wait()

    def _type(self, line):
        self._shell.stdin.write(f"{line}\n".encode())
        self._shell.stdin.flush()

    def paste(self, commands):
        """Paste commands into the shell. Return whether all succeeded; `printed` has what they printed."""
        self._script.write_text(commands.replace(SERVER, self.server), encoding="utf-8")
        self._type(f"source {self._script} >{self._output} 2>&1 </dev/null; echo done")
        readable, _, _ = select.select([self._shell.stdout], [], [], SECONDS_MAX)
        done = bool(readable) and self._shell.stdout.readline() == b"done\n"
        self.printed = self._output.read_text(encoding="utf-8").replace(self.server, SERVER)
        return done

    def follow(self, block: Block):
        """Paste or compare a block, by its language on the page."""
        if block.language == "sh":
            assert self.paste(block.body), f"{block.place}\n{self.printed}"
        elif block.language == "text":
            missing = difference(block.body, self.printed)
            assert missing is None, f"{block.place}: not printed one after the other: {missing}\n{self.printed}"
