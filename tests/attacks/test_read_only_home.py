"""A home without write access, of an ordinary user: what is there is shown, and nothing changes.

Root may write everywhere, so for root the commands run in a user namespace as a user without capabilities, to whom
root's files belong.
"""

import os
import subprocess
import sys
from hashlib import sha256

import pytest

from tests.cli.samples import PROBLEM
from tests.docs.blocks import ROOT

ORDINARY = ("unshare", "--user", "--map-user=65534", "--map-group=65534") if os.geteuid() == 0 else ()


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a run that has finished, whose folder and files nobody may write."""
    folder = tmp_path_factory.mktemp("frozen")
    (folder / "problem.md").write_text(PROBLEM)
    assert call(folder / "home", "run", str(folder / "problem.md"), "-m", "rules", as_is=True).returncode == 0
    for path in [*(folder / "home").rglob("*"), folder / "home"]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield folder / "home"
    for path in [folder / "home", *(folder / "home").rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)


def call(home, *words, as_is=False):
    """Run a command as the ordinary user, or as this one."""
    return subprocess.run(
        [*(() if as_is else ORDINARY), sys.executable, "-m", "replan", *words],
        env=os.environ | {"REPLAN_HOME": str(home)},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def content(home):
    """Return what is in the home, with the modes."""
    return {
        str(path): (path.stat().st_mode, sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in [home, *home.rglob("*")]
    }


def test_the_user_of_these_tests_cannot_write_there(home):
    code = f"open({str(home / 'new')!r}, 'w')"
    done = subprocess.run([*ORDINARY, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PermissionError" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("runs",), ("show", "--last"), ("questions", "--last"), ("export", "--last"), ("journal", "verify")],
    ids=" ".join,
)
def test_what_is_in_it_is_shown(home, words):
    before = content(home)
    done = call(home, *words)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout
    assert content(home) == before


@pytest.mark.parametrize(
    "words",
    [("run", "{problem}", "-m", "rules"), ("serve", "--port", "0"), ("host",)],
    ids=" ".join,
)
def test_what_would_change_it_ends_with_one_line(home, words):
    before = content(home)
    done = call(home, *(word.format(problem=home.parent / "problem.md") for word in words))
    assert done.returncode in (2, 9), (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert str(home) in done.stderr
    assert content(home) == before
