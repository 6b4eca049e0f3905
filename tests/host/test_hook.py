"""The notify hook: what it is told, what it never sees, and that it holds nobody up."""

import json
import os
import sys

import pytest
import trio

from runtime.host import hook
from runtime.host.hook import Hook


def program(script):
    """Return the arguments of a program."""
    return sys.executable, "-c", script


@pytest.fixture
def quick(monkeypatch):
    """A hook has little time."""
    monkeypatch.setattr(hook, "SECONDS_MAX", 0.5)


async def test_the_program_reads_one_json_object(tmp_path):
    script = f"import sys; open({str(tmp_path / 'heard')!r}, 'w').write(sys.stdin.read())"
    await Hook(program(script)).call({"run_id": "first", "title": "Ä"})
    assert json.loads((tmp_path / "heard").read_text()) == {"run_id": "first", "title": "Ä"}


async def test_without_a_program_nothing_happens():
    await Hook().call({"run_id": "first"})


async def test_the_program_sees_no_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-12345")
    monkeypatch.setenv("MY_COLOUR", "blue")
    script = f"import json,os; json.dump(dict(os.environ), open({str(tmp_path / 'seen')!r}, 'w'))"
    await Hook(program(script)).call({})
    seen = json.loads((tmp_path / "seen").read_text())
    assert "MY_API_KEY" not in seen
    assert seen["MY_COLOUR"] == "blue"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (program("import sys; sys.stdin.close(); sys.exit(3)"), "ended with 3"),
        (("/nowhere/at/all",), "No such file"),
        (("nul\0",), "null byte"),
        (program("print('garbage' * 1_000_000); raise SystemExit(1)"), "ended with 1"),
    ],
)
async def test_what_goes_wrong_is_logged_once_and_raised_never(caplog, arguments, words):
    one = Hook(arguments)
    for _ in range(2):
        await one.call({"text": "x" * 1_000_000})
    (record,) = [record for record in caplog.records if "hook.failed" in record.getMessage()]
    assert words in record.getMessage()


async def test_a_program_that_hangs_is_killed_with_all_that_it_has_started(tmp_path, quick):
    script = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    await Hook(program(script)).call({})
    child = int((tmp_path / "child").read_text())
    for _ in range(500):  # Init takes it in.
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if "Z" in (await trio.Path(f"/proc/{child}/stat").read_text()).rpartition(")")[2].split()[0]:
            return
        await trio.sleep(0.01)
    raise AssertionError("the child lives on")


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
