"""A simulated disk that can lose power: it tracks which content of each file would survive.

Programs work on real files, which stand for the page cache of the operating system. Unsynced writes may reach the disk
in part, in any order, sector by sector, with a torn sector; the creation or deletion of a name may be lost too. One
operation can fail (a write that stops half-way, or a sync that drops its data for good, as on Linux), or be the last
one before the power is lost.
"""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import apsw

SECTOR = 512


@dataclass(frozen=True)
class Write:
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncation:
    size: int


@dataclass
class DiskContent:
    """The content of one file on the disk, and its unsynced changes. `former` is the file that had the name before."""

    content: bytearray = field(default_factory=bytearray)
    unsynced: list[Write | Truncation] = field(default_factory=list)
    named: bool = True
    former: bytes | None = None

    def sync(self) -> None:
        for change in self.unsynced:
            _apply(self.content, change)
        self.unsynced = []

    def sync_partly(self, rng: Random) -> None:
        """Apply a random part of the unsynced changes and drop the rest."""
        share = rng.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for change in self.unsynced:
            for piece in _pieces(change):
                if rng.random() < share:
                    _apply(self.content, piece)
                elif isinstance(piece, Write) and rng.random() < 0.1:
                    _apply(self.content, Write(piece.offset, piece.data[: rng.randrange(len(piece.data))]))
        self.unsynced = []

    def after_power_loss(self, rng: Random) -> bytes | None:
        """Return the content of the name after a power loss; None if the name does not exist."""
        self.sync_partly(rng)
        if self.named or rng.random() < 0.5:
            return bytes(self.content)
        return self.former


def _pieces(change: Write | Truncation) -> list[Write | Truncation]:
    """Split a change into the sectors that the disk writes."""
    if isinstance(change, Truncation):
        return [change]
    pieces: list[Write | Truncation] = []
    start, end = change.offset, change.offset + len(change.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        pieces.append(Write(start, change.data[start - change.offset : stop - change.offset]))
        start = stop
    return pieces


def _apply(content: bytearray, change: Write | Truncation) -> None:
    end = change.size if isinstance(change, Truncation) else change.offset + len(change.data)
    content.extend(bytes(max(0, end - len(content))))
    if isinstance(change, Truncation):
        del content[end:]
    else:
        content[change.offset : end] = change.data


class Disk(apsw.VFS):
    """A SQLite file system, used by its name. Operations are numbered from 1."""

    def __init__(self, name: str, rng: Random, *, power_until: int | None = None, fails_at: int | None = None) -> None:
        self.name, self.rng = name, rng
        self.power_until, self.fails_at, self.operations = power_until, fails_at, 0
        self.contents: dict[Path, DiskContent] = {}
        self.deleted: dict[Path, bytes] = {}
        self.lock = threading.RLock()
        super().__init__(name, "")

    @property
    def off(self) -> bool:
        return self.power_until is not None and self.operations >= self.power_until

    def operate(self) -> bool:
        """Count an operation, and return whether it must fail. Raises if the power is off."""
        if self.off:
            raise apsw.IOError("the power is off")
        self.operations += 1
        return self.operations == self.fails_at

    def after(self) -> None:
        """Raise if the power was lost with this operation."""
        if self.off:
            raise apsw.IOError("the power was lost")

    def fault(self) -> apsw.Error:
        """Return the error of a failing or full disk."""
        return self.rng.choice((apsw.IOError, apsw.FullError))("this operation fails")

    def sync_folder(self) -> None:
        """Sync all names, as SQLite does after the first sync of a new file."""
        for disk_content in self.contents.values():
            disk_content.named, disk_content.former = True, None
        self.deleted.clear()

    def lose_power(self, folder: Path) -> None:
        """Write the content of the disk after a power loss into a folder."""
        with self.lock:
            names = {
                path: disk_content.after_power_loss(self.rng) for path, disk_content in sorted(self.contents.items())
            }
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
            gone = self.contents.pop(Path(name), None)
            if gone is not None and not sync_folder:
                left = gone.after_power_loss(self.rng)
                if left is not None:
                    self.deleted[Path(name)] = left
            self.after()


class DiskFile(apsw.VFSFile):
    """An open file. Files without a name, which SQLite uses as temporary files, are not tracked."""

    def __init__(self, disk: Disk, name, flags) -> None:
        self.disk = disk
        self.path = None if name is None else Path(name if isinstance(name, str) else name.filename())
        known = self.path.read_bytes() if self.path is not None and self.path.exists() else None
        super().__init__("", name, flags)
        if self.path is not None and self.path not in disk.contents:
            former = disk.deleted.pop(self.path, None)
            disk.contents[self.path] = DiskContent(bytearray(known or b""), named=known is not None, former=former)

    def xWrite(self, data, offset):  # noqa: N802
        disk = self.disk
        if self.path is None:
            super().xWrite(data, offset)
            return
        with disk.lock:
            fails = disk.operate()
            written = bytes(data)[: len(data) // 2] if fails else bytes(data)
            super().xWrite(written, offset)
            disk.contents[self.path].unsynced.append(Write(offset, written))
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
            disk.contents[self.path].unsynced.append(Truncation(size))
            disk.after()

    def xSync(self, flags):  # noqa: N802
        disk = self.disk
        if self.path is None:
            return
        with disk.lock:
            fails = disk.operate()
            if fails:
                disk.contents[self.path].sync_partly(disk.rng)
                raise disk.fault()
            disk.after()
            disk.contents[self.path].sync()
            if not disk.contents[self.path].named:
                disk.sync_folder()
