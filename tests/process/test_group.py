"""Commands in process groups of their own: real processes, whose names are known before they begin."""

import os
import signal
import subprocess
import sys
import time

import pytest
import trio

from runtime.process import group
from runtime.process.group import CommandNotStarted, end_group, start_gated
from runtime.process.identity import end_of_group, identity, name_of

PYTHON = [sys.executable, "-I", "-S", "-c"]
ENVIRONMENT = {"PATH": os.environ["PATH"]}


async def run(arguments, folder, environment=ENVIRONMENT, **more):
    async with start_gated(arguments, folder=folder, environment=environment, **more) as command:
        return await command.run()


def sleeping():
    """Start a process that leads a group of its own."""
    return subprocess.Popen([*PYTHON, "import time; time.sleep(60)"], start_new_session=True)


async def test_a_command_runs_in_its_folder_with_its_environment_and_its_output_is_kept(tmp_path):
    code = "import os, sys; print(os.getcwd(), sorted(os.environ), flush=True); sys.stderr.write('err'); sys.exit(3)"
    done = await run([*PYTHON, code], tmp_path, {**ENVIRONMENT, "ONLY": "this"})
    assert done.code == 3
    first, second = done.output.decode().splitlines()
    assert str(tmp_path) in first
    assert "'ONLY', 'PATH'" in first
    assert second == "err"


async def test_a_shell_never_reads_the_arguments(tmp_path):
    done = await run([*PYTHON, "import sys; print(sys.argv[1:])", "$(touch x)", "; touch y", "*"], tmp_path)
    assert done.output.decode().strip() == "['$(touch x)', '; touch y', '*']"
    assert list(tmp_path.iterdir()) == []


async def test_a_command_does_not_begin_before_the_gate_is_opened(tmp_path):
    """Its name is known, and its group lives; nothing has happened, and nothing does if the gate is never opened."""
    async with start_gated([*PYTHON, "open('begun', 'w')"], folder=tmp_path, environment=ENVIRONMENT) as command:
        await trio.sleep(0.3)
        assert end_of_group(command.name) is False
        assert not (tmp_path / "begun").exists()
    assert end_of_group(command.name) is True
    assert not (tmp_path / "begun").exists()


def test_a_command_whose_starter_is_killed_before_it_opens_the_gate_never_runs(tmp_path):
    program = f"""
import os, pathlib, sys, trio
from runtime.process.group import start_gated
async def main():
    here = pathlib.Path({str(tmp_path)!r})
    arguments = [sys.executable, "-c", "open('begun', 'w')"]
    async with start_gated(arguments, folder=here, environment=dict(os.environ)) as command:
        print(command.name, flush=True)
        os.kill(os.getpid(), 9)
trio.run(main)
"""
    killed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    name = killed.stdout.strip()
    until = time.monotonic() + 10
    while end_of_group(name) is False and time.monotonic() < until:
        time.sleep(0.02)
    assert end_of_group(name) is True
    assert not (tmp_path / "begun").exists()


async def test_a_missing_program_is_an_error_that_names_the_cause(tmp_path):
    with pytest.raises(CommandNotStarted, match="No such file"):
        await run(["no-such-program-here"], tmp_path)


async def test_more_output_than_is_kept_is_read_and_counted(tmp_path):
    done = await run([*PYTHON, "print('x' * 500_000)"], tmp_path, output_bytes_max=1000)
    assert (len(done.output), done.dropped) == (1000, 499_001)


async def test_cancelling_ends_the_whole_group_also_a_process_that_ignores_sigterm(tmp_path, monkeypatch):
    monkeypatch.setattr(group, "GRACE_SECONDS", 0.3)
    code = (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork();"
        "open(f'up{os.getpid()}', 'w'); time.sleep(60)"
    )
    async with start_gated([*PYTHON, code], folder=tmp_path, environment=ENVIRONMENT) as command:
        with trio.move_on_after(20) as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(command.run)
                while len(list(tmp_path.iterdir())) < 2:  # noqa: ASYNC110 - another process
                    await trio.sleep(0.01)
                scope.cancel()
    assert end_of_group(command.name) is True


async def test_a_process_that_the_command_leaves_behind_is_ended_with_it(tmp_path):
    code = "import os, time; os.fork() or time.sleep(60)"
    with trio.fail_after(300):
        async with start_gated([*PYTHON, code], folder=tmp_path, environment=ENVIRONMENT) as command:
            assert (await command.run()).code == 0
    assert end_of_group(command.name) is True


async def test_another_process_ends_a_group_by_its_recorded_name(tmp_path):
    with sleeping() as left_behind:
        name = name_of(left_behind.pid)
        assert end_of_group(name) is False
        assert await end_group(name) is True
        assert left_behind.wait(10) == -signal.SIGTERM


async def test_a_group_that_cannot_be_seen_is_not_called_gone():
    host, namespace, pid, birth = identity().rsplit("/", 3)
    assert await end_group(f"elsewhere/{namespace}/{pid}/{birth}") is False
    assert await end_group(f"{host}/{namespace}/{pid}/otherboot.1") is False
    assert await end_group("not a process") is False


async def test_a_number_that_now_belongs_to_another_process_is_left_alone(tmp_path):
    with sleeping() as other:
        host, namespace, pid, birth = name_of(other.pid).rsplit("/", 3)
        boot, _, ticks = birth.partition(".")
        assert await end_group(f"{host}/{namespace}/{pid}/{boot}.{int(ticks) - 1}") is True
        assert other.poll() is None
        other.kill()
