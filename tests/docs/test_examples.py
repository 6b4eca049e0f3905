"""Every example that a page shows is run as a reader would run it: page by page, in a folder and home of its own."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, blocks, pages
from tests.docs.warm import warm_commands

RUN_ID = "k7m2x9qa"
"""The run id that examples show; tests replace it by the id of the newest run."""
VARIES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\d\d:\d\d:\d\d|[\d,]+(?= tokens at most)")
"""Parts of a line that differ between runs: points in time, and reserved tokens, which depend on the prompt."""

INSTALLING = "docs/explanation/add-an-agent.md"
"""The page that installs a package; `test_add_an_agent` follows it, since the warm command line would not find that."""

WITH_EXAMPLES = [
    page
    for page in pages()
    if any(block.exit is not None for block in blocks(page)) and page.relative_to(ROOT).as_posix() != INSTALLING
]


@pytest.fixture(scope="module")
def commands():
    """The folder with the command `replan`. Its path is short, since the name of a socket has a limit."""
    with tempfile.TemporaryDirectory(prefix="rp") as folder, warm_commands(Path(folder)) as path:
        yield path


REST = "..."
"""On a line of its own: lines that are left out. At the end of a line: words that are left out."""


def same(line):
    """Return a line without the parts that vary and without the alignment of its columns."""
    return " ".join(VARIES.sub("*", line).split())


def matches(shown, printed):
    """Tell whether the lines of a page are these lines of the output, in any order: concurrent steps have none."""
    unmatched = list(printed)
    for line in sorted(shown, key=lambda line: line.endswith(REST)):
        start = line.removesuffix(REST)
        match = next((text for text in unmatched if text == line or (start != line and text.startswith(start))), None)
        if match is None:
            return False
        unmatched.remove(match)
    return True


class Reader:
    """Follows one page from top to bottom."""

    def __init__(self, folder, commands):
        self.folder = folder / "work"
        self.home = folder / "home"
        shutil.copytree(ROOT / "configs" / "problems", self.folder / "configs" / "problems")
        self.environment = os.environ | {
            "PATH": os.pathsep.join((str(commands), str(Path(sys.executable).parent), os.environ["PATH"])),
            "REPLAN_HOME": str(self.home),
            "COLUMNS": "400",
            "NO_COLOR": "1",
        }
        self.output = ""
        self.newest_id = None

    def newest(self):
        """The id of the newest run, or the placeholder while there is none; it is queried once per run."""
        if self.newest_id is None:
            runs = json.loads(self.bash("replan runs --json").stdout)["runs"]
            self.newest_id = runs[0]["run_id"] if runs else RUN_ID
        return self.newest_id

    def bash(self, script):
        """Run a script in the page's folder."""
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def follow(self, block: Block):
        """Write, run or compare a block, as its info string says."""
        if block.file is not None:
            (self.folder / block.file).write_text(block.body)
        if block.exit is None:
            if "output" in block.words:
                self.compare(block)
            return
        if block.language == "sh":
            script = block.body.replace(RUN_ID, self.newest()) if RUN_ID in block.body else block.body
            done = self.bash(script)
            self.newest_id = None if "replan run " in script else self.newest_id
            self.output = done.stdout + done.stderr
            assert done.returncode == block.exit, f"line {block.line}: exit {done.returncode}\n{self.output}"
        else:
            assert block.language == "python", f"line {block.line}: no test runs {block.language}"
            self.python(block)

    def python(self, block):
        """Run a Python block in this process."""
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryFile("w+") as out:
            patch.chdir(self.folder)
            patch.setenv("REPLAN_HOME", str(self.home))
            patch.setattr("sys.stdout", out)
            exec(compile(block.body, f"line {block.line}", "exec"), {"__name__": "example"})
            out.seek(0)
            self.output = out.read()

    def compare(self, block):
        """Check that the output has the lines of the block one after the other; `...` stands for any lines."""
        output = self.output.replace(self.newest(), RUN_ID) if RUN_ID in block.body else self.output
        printed = [same(line) for line in output.splitlines() if line.strip()]
        shown = [same(line) for line in block.body.splitlines() if line.strip()]
        for rest, lines in groupby(shown, key=REST.__eq__):
            part = list(lines)
            starts = range(len(printed) - len(part) + 1)
            printed_so = rest or any(matches(part, printed[start : start + len(part)]) for start in starts)
            assert printed_so, f"line {block.line}: not printed one after the other: {part}\n{self.output}"


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_example_of_a_page_does_what_the_page_says(page, commands, tmp_path):
    """Files are written, commands run, exit codes and shown lines compared, in the order of the page."""
    reader = Reader(tmp_path, commands)
    for block in blocks(page):
        if page.name != "README.md" or block.language == "python":  # Its transcript has a test of its own.
            reader.follow(block)


def test_the_front_page_shows_what_make_run_prints(commands, tmp_path):
    """The command is the one in the Makefile, the lines are those of the first block on the page."""
    makefile = (ROOT / "Makefile").read_text()
    problem = re.search(r"^PROBLEM \?= (.+)$", makefile, re.MULTILINE)[1]
    recipe = re.search(r"^run:.*\n\t@\$\(BIN\)/(.+)$", makefile, re.MULTILINE)[1]
    reader = Reader(tmp_path, commands)
    reader.follow(Block("sh", ("test",), recipe.replace("$(PROBLEM)", problem), 0))
    shown = next(block for block in blocks(ROOT / "README.md") if "output" in block.words)
    reader.compare(shown)


def test_the_tree_on_the_front_page_is_the_one_that_the_tutorial_has_printed():
    trees = [
        [block.body for block in blocks(ROOT / page) if "thrown away" in block.body]
        for page in ("README.md", "docs/tutorial/first-plan.md")
    ]
    assert trees[0] == trees[1]
    assert len(trees[0]) == 1


def test_the_pages_that_teach_have_examples():
    """A parser that found no blocks would let all pages pass."""
    names = {page.relative_to(ROOT).as_posix() for page in WITH_EXAMPLES}
    assert "docs/tutorial/first-plan.md" in names
    assert sum(name.startswith("docs/how-to/") for name in names) >= 6
