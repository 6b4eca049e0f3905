"""A disk that can lose power: it knows, beside what programs see, what would be left of their files if it did.

Programs work on real files, which stand for the memory of the operating system. What was not synced may reach the disk
in part, in any order, sector by sector, with a sector cut in the middle; a new or deleted name may not be there yet.
Any one operation can be made to fail (a write that stops half-way, a sync that drops what it should have written and
never tries again, as Linux does), or to be the last one before the power goes.
"""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import apsw

SECTOR = 512


@dataclass(frozen=True)
class Write:
    """Bytes that a program has written at a place."""

    offset: int
    data: bytes


@dataclass(frozen=True)
class Cut:
    """A program has made a file this long."""

    size: int


@dataclass
class Platter:
    """One file as the disk has it, and what is still on its way there; `former` is what its name stood for before."""

    content: bytearray = field(default_factory=bytearray)
    unsynced: list[Write | Cut] = field(default_factory=list)
    named: bool = True
    former: bytes | None = None

    def sync(self) -> None:
        """Bring all that was written to the disk."""
        for change in self.unsynced:
            _apply(self.content, change)
        self.unsynced = []

    def settle(self, rng: Random) -> None:
        """Bring a part of it to the disk and forget the rest."""
        share = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for change in self.unsynced:
            for piece in _pieces(change):
                if rng.random() < share:
                    _apply(self.content, piece)
                elif isinstance(piece, Write) and rng.random() < 0.1:
                    _apply(self.content, Write(piece.offset, piece.data[: rng.randrange(len(piece.data))]))
        self.unsynced = []

    def left(self, rng: Random) -> bytes | None:
        """Return what the name stands for after the power has gone; None for nothing."""
        self.settle(rng)
        if self.named or rng.random() < 0.5:
            return bytes(self.content)
        return self.former


def _pieces(change: Write | Cut) -> list[Write | Cut]:
    """Return a change as the disk takes it: sector by sector."""
    if isinstance(change, Cut):
        return [change]
    pieces: list[Write | Cut] = []
    start, end = change.offset, change.offset + len(change.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        pieces.append(Write(start, change.data[start - change.offset : stop - change.offset]))
        start = stop
    return pieces


def _apply(content: bytearray, change: Write | Cut) -> None:
    end = change.size if isinstance(change, Cut) else change.offset + len(change.data)
    content.extend(bytes(max(0, end - len(content))))
    if isinstance(change, Cut):
        del content[end:]
    else:
        content[change.offset : end] = change.data


class Disk(apsw.VFS):
    """A file system that journals can be opened on by its name; numbers of operations count from 1."""

    def __init__(self, name: str, rng: Random, *, power_until: int | None = None, fails_at: int | None = None) -> None:
        self.name, self.rng = name, rng
        self.power_until, self.fails_at, self.operations = power_until, fails_at, 0
        self.platters: dict[Path, Platter] = {}
        self.deleted: dict[Path, bytes] = {}
        self.lock = threading.RLock()
        super().__init__(name, "")

    @property
    def off(self) -> bool:
        """Whether the power has gone."""
        return self.power_until is not None and self.operations >= self.power_until

    def operate(self) -> bool:
        """Count an operation; tell whether it is the one that fails. Nothing works without power."""
        if self.off:
            raise apsw.IOError("the power is off")
        self.operations += 1
        return self.operations == self.fails_at

    def after(self) -> None:
        """Let the power go, if this was the last operation."""
        if self.off:
            raise apsw.IOError("the power goes off")

    def fault(self) -> apsw.Error:
        """Return an error as a failing disk, or a full one, gives it."""
        return self.rng.choice((apsw.IOError, apsw.FullError))("this one goes wrong")

    def sync_folder(self) -> None:
        """Make all names final, as SQLite does after the first sync of a new file."""
        for platter in self.platters.values():
            platter.named, platter.former = True, None
        self.deleted.clear()

    def lose_power(self, folder: Path) -> None:
        """Write what the disk holds, once all that was under way is lost, into a folder."""
        with self.lock:
            names = {path: platter.left(self.rng) for path, platter in sorted(self.platters.items())}
            for path, content in sorted(self.deleted.items()):
                names.setdefault(path, self.rng.choice((content, None)))
        for path, left in names.items():
            if left is not None:
                (folder / path.name).write_bytes(left)

    def xOpen(self, name, flags):  # noqa: N802 - the names that follow are SQLite's
        with self.lock:
            return DiskFile(self, name, flags)

    def xDelete(self, name, sync_folder):  # noqa: N802
        with self.lock:
            if self.operate():
                raise self.fault()
            super().xDelete(name, sync_folder)
            gone = self.platters.pop(Path(name), None)
            if gone is not None and not sync_folder:
                left = gone.left(self.rng)
                if left is not None:
                    self.deleted[Path(name)] = left
            self.after()


class DiskFile(apsw.VFSFile):
    """An open file; what has no name (SQLite's scratch) is no business of the disk's."""

    def __init__(self, disk: Disk, name, flags) -> None:
        self.disk = disk
        self.path = None if name is None else Path(name if isinstance(name, str) else name.filename())
        known = self.path.read_bytes() if self.path is not None and self.path.exists() else None
        super().__init__("", name, flags)
        if self.path is not None and self.path not in disk.platters:
            former = disk.deleted.pop(self.path, None)
            disk.platters[self.path] = Platter(bytearray(known or b""), named=known is not None, former=former)

    def xWrite(self, data, offset):  # noqa: N802
        disk = self.disk
        if self.path is None:
            super().xWrite(data, offset)
            return
        with disk.lock:
            fails = disk.operate()
            written = bytes(data)[: len(data) // 2] if fails else bytes(data)
            super().xWrite(written, offset)
            disk.platters[self.path].unsynced.append(Write(offset, written))
            if fails:
                raise disk.fault()
            disk.after()

    def xTruncate(self, size):  # noqa: N802
        disk = self.disk
        if self.path is None:
            super().xTruncate(size)
            return
        with disk.lock:
            if disk.operate():
                raise disk.fault()
            super().xTruncate(size)
            disk.platters[self.path].unsynced.append(Cut(size))
            disk.after()

    def xSync(self, flags):  # noqa: N802
        disk = self.disk
        if self.path is None:
            return
        with disk.lock:
            fails = disk.operate()
            if fails:
                disk.platters[self.path].settle(disk.rng)
                raise disk.fault()
            disk.after()
            disk.platters[self.path].sync()
            if not disk.platters[self.path].named:
                disk.sync_folder()
