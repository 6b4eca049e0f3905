"""Who drives a run, by name: proved dead only where there is no doubt."""

import os
import subprocess
import sys

import pytest

from runtime.core.errors import Held
from runtime.core.names import describe
from runtime.process import identity as process
from runtime.process.identity import identity, is_dead

EARLIER = f"{process._boot()}.1"
"""When no process of today was born: as this system started."""


def named(pid=None, *, birth=None, namespace=None, host=None):
    """Return an owner that differs from this process in some parts."""
    parts = identity().rsplit("/", 3)
    for place, part in enumerate((host, namespace, pid, birth)):
        if part is not None:
            parts[place] = str(part)
    return "/".join(parts)


@pytest.fixture
def child():
    """A process that has ended, and has been waited for, so that its number is free."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as running:
        yield running
        running.kill()


def end(child):
    child.kill()
    child.wait()


def test_this_process_lives():
    assert named() == identity()
    assert not is_dead(identity())


def test_another_process_lives_until_it_ends(child):
    owner = named(child.pid, birth=process._birth(child.pid))
    assert not is_dead(owner)
    end(child)
    assert is_dead(owner)


def test_a_process_that_nobody_has_waited_for_is_gone_all_the_same(child):
    owner = named(child.pid, birth=process._birth(child.pid))
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(owner)


def test_a_number_that_another_process_has_now_proves_the_death():
    assert is_dead(named(birth=EARLIER))


def test_a_number_of_another_machine_or_container_proves_nothing(child):
    """Machines may share a folder, and containers a host's name; each counts its processes for itself."""
    end(child)
    assert is_dead(named(child.pid))
    assert not is_dead(named(child.pid, host="elsewhere"))
    assert not is_dead(named(child.pid, namespace="1"))
    assert not is_dead(named(child.pid, namespace=""))
    assert not is_dead(named(birth=EARLIER, namespace="1"))


@pytest.mark.parametrize("birth", ["00000000.1", ""])
def test_a_number_under_another_boot_proves_nothing(child, birth):
    """Two machines may have one name and the same first namespace, as clones have; and share a home."""
    end(child)
    assert is_dead(named(child.pid))
    assert not is_dead(named(child.pid, birth=birth))
    assert not is_dead(named(birth=birth))


def test_what_cannot_be_read_proves_nothing(monkeypatch, tmp_path):
    other = named(birth=EARLIER)
    assert not is_dead(named(birth=""))
    monkeypatch.setattr(process, "_PROC", tmp_path)
    assert not is_dead(other)
    monkeypatch.setattr(process, "_NAMESPACE", tmp_path / "none")
    assert identity().split("/")[-3:] == ["", str(os.getpid()), ""]
    assert not is_dead(identity())


def test_the_process_of_somebody_else_is_not_dead(monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(os, "kill", refused)
    assert not is_dead(named(birth=EARLIER))


@pytest.mark.parametrize("pid", ["", "x", "-1", "0", "²", "1.5", "9" * 40])
def test_a_number_that_is_none_proves_nothing(pid):
    assert not is_dead(named(pid or " ", birth=EARLIER))


@pytest.mark.parametrize("owner", ["", "/", "///", "test", "a/b/c", "host/1/2", "host/ns/pid/birth/"])
def test_a_name_that_is_no_process_s_proves_nothing(owner):
    assert not is_dead(owner)
    assert describe(owner) == owner


def test_people_read_the_process_and_its_host():
    assert describe("box.example/4026531836/4711/8b605d60.99") == "process 4711 on box.example"
    assert describe("ci/job/7//12/") == "process 12 on ci/job/7"
    assert "driven by process 12 on box until" in str(Held("r", "box//12/", 0.0))
