"""Every example that a page shows is run as a reader would run it: page by page, in a folder and home of its own."""

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, Block, blocks, pages
from tests.docs.warm import warm_commands

RUN_ID = "k7m2x9qa"
"""The run id that examples show; in its place stands the newest run's."""
VARIES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\d\d:\d\d:\d\d")
"""What differs from run to run: points in time."""

WITH_EXAMPLES = [page for page in pages() if any(block.exit is not None for block in blocks(page))]


@pytest.fixture(scope="module")
def commands():
    """The folder that holds the command `replan`. Its path is short, since a socket's name may not be long."""
    with tempfile.TemporaryDirectory(prefix="rp") as folder, warm_commands(Path(folder)) as path:
        yield path


def same(line):
    """Return a line without what varies; how columns are aligned does not count."""
    return " ".join(VARIES.sub("*", line).split())


class Reader:
    """Somebody who follows one page from top to bottom."""

    def __init__(self, folder, commands):
        self.folder = folder / "work"
        self.home = folder / "home"
        shutil.copytree(ROOT / "configs" / "problems", self.folder / "configs" / "problems")
        self.environment = os.environ | {
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "REPLAN_HOME": str(self.home),
            "COLUMNS": "400",
            "NO_COLOR": "1",
        }
        self.output = ""
        self.known = None

    def newest(self):
        """The id of the newest run, or the placeholder while there is none; asked once per run."""
        if self.known is None:
            runs = json.loads(self.bash("replan runs --json").stdout)["runs"]
            self.known = runs[0]["run_id"] if runs else RUN_ID
        return self.known

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
        """Do what a block says."""
        if block.file is not None:
            (self.folder / block.file).write_text(block.body)
        if block.exit is None:
            if "output" in block.words:
                self.compare(block)
            return
        if block.language == "sh":
            script = block.body.replace(RUN_ID, self.newest()) if RUN_ID in block.body else block.body
            done = self.bash(script)
            self.known = None if "replan run " in script else self.known
            self.output = done.stdout + done.stderr
            assert done.returncode == block.exit, f"line {block.line}: exit {done.returncode}\n{self.output}"
        else:
            assert block.language == "python", f"line {block.line}: nobody runs {block.language}"
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
        """Each line that the page shows was printed; the order of steps that run at once is not fixed."""
        output = self.output.replace(self.newest(), RUN_ID) if RUN_ID in block.body else self.output
        printed = {same(line) for line in output.splitlines()}
        for line in block.body.splitlines():
            shown = same(line)
            if shown in ("", "..."):
                continue
            if shown.endswith("..."):
                assert any(one.startswith(shown[:-3]) for one in printed), f"line {block.line}: {line!r}\n{self.output}"
            else:
                assert shown in printed, f"line {block.line}: {line!r} not in\n{self.output}"


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


def test_the_pages_that_teach_have_examples():
    """A parser that found no blocks would let all pages pass."""
    names = {page.relative_to(ROOT).as_posix() for page in WITH_EXAMPLES}
    assert "docs/tutorial/first-plan.md" in names
    assert sum(name.startswith("docs/how-to/") for name in names) >= 6
