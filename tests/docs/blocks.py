"""The pages, and their code blocks as a reader sees and copies them: taken from the rendered HTML alone.

What a fence says after its language is not rendered, so it cannot say anything that a reader needs. These are the
rules, by the language that the block has on the page:

    sh      commands; a reader pastes all of them, in order, into one shell that begins in an empty folder
    text    what the block before has printed: its lines in this order, `...` for what is left out
    other   an excerpt to look at; no command of the page needs it

A file that a command needs is written by a command (`cat > NAME <<'EOF'`), and a command that ends with another exit
code than 0 says so: `COMMAND || echo "exit code $?"`.
"""

import re
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
RENDERER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block: its language, its text, and the heading above it."""

    language: str
    body: str
    heading: str

    @property
    def place(self):
        """Where it is on the page, for messages of tests."""
        return f"below '{self.heading}': {self.body[:60]!r}"


class _Blocks(HTMLParser):
    """Collects the code blocks of a page, and the tags that it uses."""

    def __init__(self):
        super().__init__()
        self.blocks, self.tags = [], set()
        self._text, self._language, self._heading, self._in_pre = None, "", "", False

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self._in_pre = self._in_pre or tag == "pre"
        if tag in ("h1", "h2", "h3") or (tag == "code" and self._in_pre):
            self._text = [] if tag == "code" or self._text is None else self._text
            self._language = (dict(attrs).get("class") or "").removeprefix("language-")

    def handle_data(self, data):
        if self._text is not None:
            self._text.append(data)

    def handle_endtag(self, tag):
        if tag in ("h1", "h2", "h3"):
            self._heading, self._text = "".join(self._text), None
        elif tag == "pre":
            self.blocks.append(Block(self._language, "".join(self._text), self._heading))
            self._text, self._in_pre = None, False


@cache
def rendered(page: Path) -> _Blocks:
    """Return what a page's HTML holds."""
    parser = _Blocks()
    parser.feed(RENDERER.render(page.read_text(encoding="utf-8")))
    parser.close()
    return parser


def blocks(page: Path) -> list[Block]:
    """Return a page's code blocks in order."""
    return rendered(page).blocks


def has_fence(page: Path, language: str) -> bool:
    """Tell whether a page has a fence of a language, without rendering it."""
    return any(match["info"] == language for match in FENCE.finditer(page.read_text(encoding="utf-8")))


SEARCHED = ("market", "cloud")
"""The folders of `docs/examples` whose files are documents to search."""


def pages() -> list[Path]:
    """Return every page, the front page first, and the skills; the documents that examples search are none."""
    found = [*sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "skills").rglob("*.md"))]
    return [ROOT / "README.md", *(page for page in found if page.parent.name not in SEARCHED)]
