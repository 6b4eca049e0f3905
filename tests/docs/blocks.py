"""The fenced blocks of a page, and how their info strings say that a test uses them.

    ```sh test            run by bash in the page's own folder; must end with exit code 0
    ```sh exit=6          the same with another exit code
    ```text output        lines that the block before printed, in this order; `...` stands for lines left out
    ```yaml file=NAME     written into the folder; so for any language
    ```python test        executed in the folder; must not raise

Tests do not run blocks without such words.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its other words, its text, and its line on the page."""

    language: str
    words: tuple[str, ...]
    body: str
    line: int

    @property
    def file(self):
        """The name of the file to write the block to, or None."""
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)

    @property
    def exit(self):
        """The exit code that the block must end with; None if it is not run."""
        code = next((word.removeprefix("exit=") for word in self.words if word.startswith("exit=")), None)
        return int(code) if code is not None else 0 if "test" in self.words else None


def blocks(page: Path) -> list[Block]:
    """Return a page's blocks in order."""
    text = page.read_text(encoding="utf-8")
    result = []
    for match in FENCE.finditer(text):
        language, *words = match["info"].split() or [""]
        result.append(Block(language, tuple(words), match["body"], text.count("\n", 0, match.start()) + 1))
    return result


def pages() -> list[Path]:
    """Return every page, the front page first."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
