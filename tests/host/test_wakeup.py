"""Waking hosts by their sockets: delivery, stale sockets, and datagrams of other processes."""

import os
import socket
import stat

import pytest
import trio
import trio.testing

from runtime.core.errors import UsageProblem
from runtime.host.wakeup import NoWakeUp, WakeSockets


async def test_every_host_of_the_home_is_woken(tmp_path):
    wakeup = WakeSockets(tmp_path / "hosts")
    wakeup.wake()
    send, receive = trio.open_memory_channel(9)
    async with trio.open_nursery() as nursery:
        for name in ("first", "second"):
            await nursery.start(wakeup.listen, lambda name=name: send.send_nowait(name))
        wakeup.wake()
        with trio.fail_after(300):
            woken = [await receive.receive() for _ in range(2)]
        modes = [stat.S_IMODE(path.lstat().st_mode) for path in (wakeup.folder, *wakeup.folder.iterdir())]
        assert modes == [0o700, 0o600, 0o600]
        nursery.cancel_scope.cancel()
    assert sorted(woken) == ["first", "second"]
    assert list(wakeup.folder.iterdir()) == []


async def test_a_socket_that_a_killed_host_left_is_removed(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stale:
        stale.bind(str(tmp_path / "1-old.sock"))
    WakeSockets(tmp_path).wake()
    assert list(tmp_path.iterdir()) == []


async def test_waking_never_blocks(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unread:
        unread.bind(str(tmp_path / "1-unread.sock"))
        for _ in range(2_000):
            WakeSockets(tmp_path).wake()
        assert unread.recv(1) == b"\0"
        assert len(list(tmp_path.iterdir())) == 1


async def test_foreign_files_and_datagrams_do_no_harm(tmp_path):
    wakeup = WakeSockets(tmp_path)
    send, receive = trio.open_memory_channel(9)
    (tmp_path / "file.sock").write_text("no socket")
    (tmp_path / "folder.sock").mkdir()
    async with trio.open_nursery() as nursery:
        await nursery.start(wakeup.listen, lambda: send.send_nowait("woken"))
        (own,) = [path for path in tmp_path.iterdir() if path.name.startswith(str(os.getpid()))]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as foreign:
            foreign.connect(str(own))
            foreign.send(os.urandom(10_000))
            foreign.send(b"")
        wakeup.wake()
        with trio.fail_after(300):
            for _ in range(3):
                await receive.receive()
        nursery.cancel_scope.cancel()


async def test_a_host_that_cannot_listen_fails_at_its_start(tmp_path):
    (tmp_path / "hosts").write_text("not a folder")
    async with trio.open_nursery() as nursery:
        with pytest.raises(UsageProblem, match="not a folder"):
            await nursery.start(WakeSockets(tmp_path / "hosts").listen, lambda: None)


async def test_no_wake_up_does_nothing(autojump_clock):
    wakeup, calls = NoWakeUp(), []
    async with trio.open_nursery() as nursery:
        await nursery.start(wakeup.listen, lambda: calls.append(1))
        wakeup.wake()
        await trio.sleep(100)
        nursery.cancel_scope.cancel()
    assert calls == []
