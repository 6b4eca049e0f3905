"""Waking hosts by their sockets: who is woken, what is left behind, and who may wake."""

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
        for name in ("one", "other"):
            await nursery.start(wakeup.listen, lambda name=name: send.send_nowait(name))
        wakeup.wake()
        with trio.fail_after(5):
            woken = [await receive.receive() for _ in range(2)]
        modes = [stat.S_IMODE(path.lstat().st_mode) for path in (wakeup.folder, *wakeup.folder.iterdir())]
        assert modes == [0o700, 0o600, 0o600]
        nursery.cancel_scope.cancel()
    assert sorted(woken) == ["one", "other"]
    assert list(wakeup.folder.iterdir()) == []


async def test_a_socket_that_a_killed_host_left_is_removed(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(str(tmp_path / "1-old.sock"))
    WakeSockets(tmp_path).wake()
    assert list(tmp_path.iterdir()) == []


async def test_waking_never_blocks_however_often_it_is_done(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asleep:
        asleep.bind(str(tmp_path / "1-asleep.sock"))
        for _ in range(2_000):
            WakeSockets(tmp_path).wake()
        assert asleep.recv(1) == b"\0"
        assert len(list(tmp_path.iterdir())) == 1


async def test_what_strangers_put_there_does_no_harm(tmp_path):
    wakeup = WakeSockets(tmp_path)
    send, receive = trio.open_memory_channel(9)
    (tmp_path / "file.sock").write_text("no socket")
    (tmp_path / "folder.sock").mkdir()
    async with trio.open_nursery() as nursery:
        await nursery.start(wakeup.listen, lambda: send.send_nowait("woken"))
        (own,) = [path for path in tmp_path.iterdir() if path.name.startswith(str(os.getpid()))]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
            stranger.connect(str(own))
            stranger.send(os.urandom(10_000))
            stranger.send(b"")
        wakeup.wake()
        with trio.fail_after(5):
            for _ in range(3):
                await receive.receive()
        nursery.cancel_scope.cancel()


async def test_a_host_that_cannot_listen_says_so_before_it_has_started(tmp_path):
    (tmp_path / "hosts").write_text("not a folder")
    async with trio.open_nursery() as nursery:
        with pytest.raises(UsageProblem, match="not a folder"):
            await nursery.start(WakeSockets(tmp_path / "hosts").listen, lambda: None)


async def test_where_there_is_no_way_to_wake_hosts_nothing_happens(autojump_clock):
    wakeup, calls = NoWakeUp(), []
    async with trio.open_nursery() as nursery:
        await nursery.start(wakeup.listen, lambda: calls.append(1))
        wakeup.wake()
        await trio.sleep(100)
        nursery.cancel_scope.cancel()
    assert calls == []
