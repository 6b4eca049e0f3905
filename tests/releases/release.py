"""Releases of Replan as processes: a wheel built from the history and put into a folder, or the checkout itself."""

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONSOLE = Path(__file__).with_name("console.py")
REQUIRED = "REPLAN_REQUIRE_HISTORY"
SECONDS_MAX = 60.0
"""How long a process may be silent."""


def installed(name, commit, folder):
    """Install the release of a tag, or of a commit where the tag is missing, into a folder, without a network.

    The dependencies are those of this environment. Skips the test where the history is missing, and fails it there if
    REPLAN_REQUIRE_HISTORY is set.
    """
    source, found = folder / "source", next(filter(_is_known, (name, commit)), None)
    if found is None:
        missing = f"no history here: neither the tag {name} nor the commit {commit[:12]}"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, and there is {missing}")
        pytest.skip(missing)
    source.mkdir()
    archive = _run("git", "-C", ROOT, "archive", "--format=tar", found)
    _run("tar", "-x", "-C", source, input=archive)
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    (wheel,) = folder.glob("*.whl")
    options = ("--no-deps", "--no-index", "--no-compile", "--quiet", "--target", folder / "packages")
    _run(sys.executable, "-m", "pip", "install", *options, wheel)
    return folder / "packages"


def _is_known(revision):
    command = ["git", "-C", str(ROOT), "cat-file", "-e", f"{revision}^{{commit}}"]
    return shutil.which("git") is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0


def _run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, **options)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()
    return done.stdout


class Release:
    """A release over one journal."""

    def __init__(self, packages, folder, environment):
        """Take the folder of its packages, a folder to work in, and the variables that name the journal."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "REPLAN", "OPENAI"))
        }
        self.folder, self.environment = folder, {**kept, **environment, "PYTHONPATH": str(packages)}
        self._console = None

    def start(self, *arguments):
        """Start Python with arguments, in a process of its own."""
        return subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *words, code=0):
        """Run a command line; return its output, and what it says on stderr, where it fails as expected."""
        if self._console is None:
            self._console = self.start(CONSOLE)
        self._console.stdin.write(json.dumps([str(word) for word in words]) + "\n")
        self._console.stdin.flush()
        line = self._console.stdout.readline()
        assert line, self._console.stderr.read()
        exit_code, stdout, stderr = json.loads(line)
        assert exit_code == code, f"{words}: {exit_code}\n{stdout}{stderr}"
        return stdout if code == 0 else stderr

    def json(self, *words):
        """Run a command line that prints JSON; return that."""
        return json.loads(self(*words, "--json"))

    def close(self):
        """End the process that runs command lines."""
        if self._console is not None:
            self._console.communicate()

    @contextmanager
    def host(self):
        """Start a host, and kill it at the end of the block."""
        host = Host(self.start("-m", "replan", "host", "--json"))
        try:
            host.until("ready")
            yield host
        finally:
            host.kill()


class Host:
    """A host in a process of its own."""

    def __init__(self, process):
        """Take the process."""
        self._process, self._lines = process, queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(json.loads(line))

    def until(self, event, *runs):
        """Wait until the host has reported an event of all these runs, or of itself."""
        missing, seen = set(runs) or {None}, []
        while missing:
            try:
                seen.append(self._lines.get(timeout=SECONDS_MAX))
            except queue.Empty:
                raise AssertionError(f"no {event} of {missing}: {seen}") from None
            if seen[-1]["event"] == event:
                missing.discard(seen[-1].get("run_id"))

    def kill(self):
        """Kill the process, as `kill -9` does."""
        self._process.kill()
        self._process.communicate()
