"""The notify hook: its input, its environment, its failures and its time limit."""

import json
import os
import sys

import pytest
import trio

from runtime.host import hook
from runtime.host.hook import Hook


def program(script):
    """Return the arguments that run a Python script."""
    return sys.executable, "-c", script


@pytest.fixture
def short_time_limit(monkeypatch):
    """Shorten the time limit of the hook."""
    monkeypatch.setattr(hook, "SECONDS_MAX", 0.5)


async def test_the_program_reads_one_json_object(tmp_path):
    script = f"import sys; open({str(tmp_path / 'input')!r}, 'w').write(sys.stdin.read())"
    await Hook(program(script)).call({"run_id": "first", "title": "Ä"})
    assert json.loads((tmp_path / "input").read_text()) == {"run_id": "first", "title": "Ä"}


async def test_a_hook_without_a_program_does_nothing():
    await Hook().call({"run_id": "first"})


async def test_the_program_sees_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-12345")
    monkeypatch.setenv("MY_COLOUR", "blue")
    script = f"import json,os; json.dump(dict(os.environ), open({str(tmp_path / 'environment')!r}, 'w'))"
    await Hook(program(script)).call({})
    environment = json.loads((tmp_path / "environment").read_text())
    assert "MY_API_KEY" not in environment
    assert environment["MY_COLOUR"] == "blue"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (program("import sys; sys.stdin.close(); sys.exit(3)"), "ended with 3"),
        (("/nowhere/at/all",), "No such file"),
        (("nul\0",), "null byte"),
        (program("print('garbage' * 1_000_000); raise SystemExit(1)"), "ended with 1"),
    ],
)
async def test_a_failing_program_is_logged_once_and_never_raised(caplog, arguments, words):
    notify_hook = Hook(arguments)
    for _ in range(2):
        await notify_hook.call({"text": "x" * 1_000_000})
    (record,) = [record for record in caplog.records if "hook.failed" in record.getMessage()]
    assert words in record.getMessage()


async def test_a_hanging_program_is_killed_with_its_children(tmp_path, short_time_limit):
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    await Hook(program(script)).call({})
    child = int((tmp_path / "child").read_text())
    for _ in range(500):  # Until init reaps it.
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if "Z" in (await trio.Path(f"/proc/{child}/stat").read_text()).rpartition(")")[2].split()[0]:
            return
        await trio.sleep(0.01)
    raise AssertionError("the child is still running")


async def test_a_caller_that_is_cancelled_leaves_no_process(tmp_path):
    script = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with trio.move_on_after(10) as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Hook(program(script)).call, {})
            while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():  # noqa: ASYNC110 -- another process
                await trio.sleep(0.01)
            scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
