"""The size of the product is counted from commits, so that the published tables stay true."""

import importlib.util
import subprocess

import pytest

from tests.docs.blocks import ROOT

FILES = {
    "replan/__init__.py": "a\n",
    "replan/cli/app.py": "import ast, os.path\nfrom . import run as os\n",
    "replan/cli/commands/run.py": "a\n\nb",
    "actors/run/kind.py": "class A:\n    async def f(self, a, /, b, *c, d, **e): import ast\ndef g(a): pass\n",
    "packages/lab/replan_lab/race.py": "def h(a, b, c, d, e, f): pass\n",
    "conftest.py": "a\n",
    "tests/cli/test_run.py": "a\n" * 5,
    "docs/size.py": "a\n",
    "docs/how-to/host.md": "# Run a host\n\nOne two.\n",
    "README.md": "# Replan\n",
    "replan/cli/help.txt": "a\n",
}


def load():
    """Return docs/size.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_size", ROOT / "docs" / "size.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SIZE = load()


def git(folder, *words):
    settings = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


def test_a_commit_is_counted_by_folder(tmp_path):
    """A folder has what is below it, and docs count by words; data, scripts and uncommitted edits do not count."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    (tmp_path / "replan/cli/app.py").write_text("a\n" * 9)
    found = SIZE.size_of("HEAD", tmp_path)
    assert found.folders == {
        "replan": (1, 1),
        "replan/cli": (5, 2),
        "actors/run": (3, 1),
        "replan_lab": (1, 1),
        "tests/cli": (5, 1),
        "tests": (1, 1),
        "docs": (8, 2),
    }
    assert found.parameters == [(5, "actors/run/kind.py f"), (1, "actors/run/kind.py g")]
    assert found.imports[:2] == [(3, "replan/cli/app.py"), (1, "actors/run/kind.py")]
    assert SIZE.rows({"replan/old": (7, 2)}, found.folders) == [
        ("replan", 0, 0, 1, 1),
        ("replan/cli", 0, 0, 5, 2),
        ("replan/old", 7, 2, 0, 0),
        ("actors/run", 0, 0, 3, 1),
        ("replan_lab", 0, 0, 1, 1),
        ("core", 7, 2, 9, 4),
        ("replan_server", 0, 0, 0, 0),
        ("replan_acquire", 0, 0, 0, 0),
        ("replan_lab", 0, 0, 1, 1),
        ("product", 7, 2, 10, 5),
        ("tests", 0, 0, 6, 2),
        ("docs (words, pages)", 0, 0, 8, 2),
    ]


@pytest.mark.parametrize("commit", SIZE.published())
def test_the_published_sizes_are_those_of_their_commits(commit):
    """They are compared where the history is at hand, which it is not in an unpacked archive."""
    size = SIZE.published()[commit]
    tops = {folder.partition("/")[0] for folder in size.folders}
    assert {*SIZE.CORE, SIZE.TESTS, SIZE.DOCS} <= tops <= {*SIZE.CORE, *SIZE.PACKAGES, SIZE.TESTS, SIZE.DOCS}
    if (
        subprocess.run(["git", "cat-file", "-e", f"{commit}:"], cwd=ROOT, capture_output=True, check=False).returncode
        == 0
    ):
        assert size == SIZE.size_of(commit)
