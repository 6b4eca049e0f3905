"""Makes the recording of `make run` for the README: `make recording`.

The example runs on a terminal of its own, and what it has left on the screen is drawn as SVG, in light and in dark; the
lines appear one after the other. The files are `docs/pictures/run.svg` and `run-dark.svg`.
"""
# ruff: noqa: INP001, T201 -- a script, not a package

import fcntl
import io
import os
import pty
import re
import struct
import sys
import tempfile
import termios
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

OUT = Path(__file__).parent / "pictures"
COLUMNS, ROWS = 80, 50
"""The size of the terminal in characters."""
THEMES = {"run": DEFAULT_TERMINAL_THEME, "run-dark": DIMMED_MONOKAI}
"""The colours of each file."""
LINE_SECONDS = 0.12
"""How long each line is the last one."""
_PART = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r\n|\n|\r|[^\x1b\r\n]+")
_FONT = re.compile(r"    @font-face \{\{.*?\}\}\n", re.DOTALL)
_MOTION = """
    @media (prefers-reduced-motion: no-preference) {{ text[style] {{ animation: appear 0.1s both }} }}
    @keyframes appear {{ from {{ opacity: 0 }} }}
"""


def main() -> None:
    """Run the example, and write the files."""
    OUT.mkdir(exist_ok=True)
    lines = screen(recorded())
    for name, theme in THEMES.items():
        (OUT / f"{name}.svg").write_text(drawn(lines, theme), encoding="utf-8")
        print(OUT / f"{name}.svg")


def recorded() -> str:
    """Return what the example writes to a terminal."""
    with tempfile.TemporaryDirectory() as folder:
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.environ |= {"TERM": "xterm-256color", "REPLAN_HOME": f"{folder}/home"}
            os.execv(sys.executable, [sys.executable, "-m", "replan", "do", "--example", "repair"])  # noqa: S606
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        written = b""
        while part := _read(terminal):
            written += part
        os.waitpid(pid, 0)
    return written.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so that the other end is closed.
        return b""


def screen(written: str) -> list[str]:
    """Return the lines that are left on the screen, with their colours. The cursor moves up; lines are erased."""
    lines, row = [""], 0
    for part in _PART.findall(written):
        if part in ("\n", "\r\n"):
            row += 1
            lines += [""] * (row == len(lines))
        elif not part.startswith("\x1b["):
            lines[row] += "" if part == "\r" else part
        elif part.endswith("A"):
            row -= int(part[2:-1] or 1)
        elif part.endswith("K"):
            lines[row] = ""
        elif part.endswith("m"):
            lines[row] += part
    return lines


def drawn(lines: list[str], theme: TerminalTheme) -> str:
    """Return the lines as SVG, without fonts from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    for line in lines:
        console.print(Text.from_ansi(line), soft_wrap=True)
    form = _FONT.sub("", CONSOLE_SVG_FORMAT).replace("font-family: Fira Code, monospace", "font-family: monospace")
    form = form.replace("</style>", f"{_MOTION}    </style>", 1)
    image = console.export_svg(title="make run", theme=theme, code_format=form, unique_id="run")
    return re.sub(
        r'clip-path="url\(#run-line-(\d+)\)"',
        lambda match: f'{match[0]} style="animation-delay:{int(match[1]) * LINE_SECONDS:.2f}s"',
        image,
    )


if __name__ == "__main__":
    main()
