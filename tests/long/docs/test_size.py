"""The size of the product is counted from commits, so that the published table stays true."""

import importlib.util
import subprocess

import pytest

from tests.docs.blocks import ROOT

FILES = {
    "replan/__init__.py": "a\n",
    "replan/cli/app.py": "a\nb\n",
    "replan/cli/commands/run.py": "a\n\nb",
    "actors/run/kind.py": "",
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


def test_a_commit_is_counted_by_room(tmp_path):
    """A room has what is below it, and docs count by words; data, scripts and uncommitted edits do not count."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "all")
    (tmp_path / "replan/cli/app.py").write_text("a\n" * 9)
    found = SIZE.counted("HEAD", tmp_path)
    assert found == {"replan": (1, 1), "replan/cli": (5, 2), "actors/run": (0, 1), "tests/cli": (5, 1), "docs": (8, 2)}
    assert SIZE.rows({"replan/old": (7, 2)}, found) == [
        ("replan", 0, 0, 1, 1),
        ("replan/cli", 0, 0, 5, 2),
        ("replan/old", 7, 2, 0, 0),
        ("actors/run", 0, 0, 0, 1),
        ("core", 7, 2, 6, 4),
        ("replan_server", 0, 0, 0, 0),
        ("replan_acquire", 0, 0, 0, 0),
        ("replan_lab", 0, 0, 0, 0),
        ("product", 7, 2, 6, 4),
        ("tests", 0, 0, 5, 1),
        ("docs (words, pages)", 0, 0, 8, 2),
    ]


@pytest.mark.parametrize("commit", SIZE.published())
def test_the_published_counts_are_those_of_their_commits(commit):
    """They are compared where the history is at hand, which it is not in an unpacked archive."""
    counts = SIZE.published()[commit]
    tops = {room.partition("/")[0] for room in counts}
    assert {*SIZE.CORE, SIZE.TESTS, SIZE.DOCS} <= tops <= {*SIZE.CORE, *SIZE.PACKAGES, SIZE.TESTS, SIZE.DOCS}
    if (
        subprocess.run(["git", "cat-file", "-e", f"{commit}:"], cwd=ROOT, capture_output=True, check=False).returncode
        == 0
    ):
        assert counts == SIZE.counted(commit)
