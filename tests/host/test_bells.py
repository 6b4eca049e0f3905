"""The bells in a home: who is woken, what is left behind, and who may ring."""

import os
import socket
import stat

import trio

from runtime.host.wakeup import WakeSockets


async def test_every_host_of_the_home_is_woken_and_counted(tmp_path):
    bells = WakeSockets(tmp_path / "hosts")
    assert bells.ring() == 0
    tell, told = trio.open_memory_channel(9)
    async with trio.open_nursery() as nursery:
        async with (
            bells.hung(lambda: tell.send_nowait("one"), nursery),
            bells.hung(lambda: tell.send_nowait("other"), nursery),
        ):
            assert bells.ring() == 2
            with trio.fail_after(5):
                heard = [await told.receive() for _ in range(2)]
            modes = [stat.S_IMODE(path.lstat().st_mode) for path in (bells.folder, *bells.folder.iterdir())]
            assert modes == [0o700, 0o600, 0o600]
        nursery.cancel_scope.cancel()
    assert sorted(heard) == ["one", "other"]
    assert bells.ring() == 0
    assert list(bells.folder.iterdir()) == []


async def test_a_bell_that_a_killed_host_left_is_taken_away(tmp_path):
    bells = WakeSockets(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(str(tmp_path / "1-old.sock"))
    assert bells.ring() == 0
    assert list(tmp_path.iterdir()) == []


async def test_ringing_never_blocks_however_often_it_is_done(tmp_path):
    bells = WakeSockets(tmp_path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asleep:
        asleep.bind(str(tmp_path / "1-asleep.sock"))
        assert {bells.ring() for _ in range(2_000)} == {1}


async def test_what_strangers_put_there_does_no_harm(tmp_path):
    bells = WakeSockets(tmp_path)
    tell, told = trio.open_memory_channel(9)
    (tmp_path / "file.sock").write_text("no socket")
    (tmp_path / "folder.sock").mkdir()
    async with trio.open_nursery() as nursery:
        async with bells.hung(lambda: tell.send_nowait("rung"), nursery):
            (own,) = [path for path in tmp_path.iterdir() if path.name.startswith(str(os.getpid()))]
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
                stranger.connect(str(own))
                stranger.send(os.urandom(10_000))
                stranger.send(b"")
            with trio.fail_after(5):
                await told.receive()
                await told.receive()
            assert bells.ring() == 1
        nursery.cancel_scope.cancel()
