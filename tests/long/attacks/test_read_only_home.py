"""A home without write access, of an ordinary user: what is there is shown, and nothing changes.

Root may write everywhere, so for root the commands run in a user namespace as a user without capabilities, to whom
root's files belong.
"""

import json
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
    [(code, _, err)] = call(folder / "home", ("run", str(folder / "problem.md"), "-m", "template:bug"), as_is=True)
    assert code == 0, err
    for path in [*(folder / "home").rglob("*"), folder / "home"]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    yield folder / "home"
    for path in [folder / "home", *(folder / "home").rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)


RUN = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from replan.cli import main
for words in json.load(sys.stdin):
    code, out, err = 0, StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""
"""Runs commands after each other; prints the exit code and the output of each."""


def call(home, *commands, as_is=False):
    """Run commands as the ordinary user, or as this one; return the code, the output and the errors of each."""
    done = subprocess.run(
        [*(() if as_is else ORDINARY), sys.executable, "-c", RUN],
        env=os.environ | {"REPLAN_HOME": str(home)},
        cwd=ROOT,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def content(home):
    return {
        str(path): (path.stat().st_mode, sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
        for path in [home, *home.rglob("*")]
    }


def test_the_user_of_these_tests_cannot_write_there(home):
    code = f"open({str(home / 'new')!r}, 'w')"
    done = subprocess.run([*ORDINARY, sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PermissionError" in done.stderr


def test_what_is_in_it_is_shown_and_what_would_change_it_ends_with_one_line(home):
    before = content(home)
    reads = ("runs",), ("show", "--last"), ("questions", "--last"), ("export", "--last"), ("home", "verify")
    writes = ("run", str(home.parent / "problem.md"), "-m", "template:bug"), ("serve", "--port", "0"), ("host",)
    done = call(home, *reads, *writes)
    assert len(done) == len(reads) + len(writes)
    for words, (code, out, err) in zip((*reads, *writes), done, strict=True):
        assert "Traceback" not in err, words
        if words in reads:
            assert (code, bool(out)) == (0, True), (words, err)
        else:
            assert code in (2, 9), (words, code, err)
            assert len(err.splitlines()) == 1, (words, err)
            assert str(home) in err, words
    assert content(home) == before
