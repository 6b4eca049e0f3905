"""Counts the lines and files of the product and its tests, and the words of the docs, at two commits: `make size`.

`python docs/size.py` prints a table with a row for each room, for `HEAD` or for a commit that is named. `--publish`
writes the counts into `size.json`, from which `docs/generate.py` makes the table of the page about the architecture.
A room is a package with everything below it. The script counts commits and not files, so the published table stays
true.
"""
# ruff: noqa: INP001, S603, S607, T201 -- a script, not a package; it calls git

import io
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "docs" / "explanation" / "size.json"
BEFORE = "7ec12b5b"
"""The commit that the review of the code has read."""
CORE = ("replan", "actors", "runtime")
PACKAGES = ("replan_server", "replan_acquire", "replan_lab")
TESTS = "tests"
DOCS = "docs"

Rooms = dict[str, tuple[int, int]]
"""The lines and the files of each room; for the docs, the words and the pages."""


def counted(commit: str, root: Path = ROOT) -> Rooms:
    """Count the lines and files of each room of a commit, and the words and pages of the docs with the README.

    Raises:
        CalledProcessError: git does not know the commit.
    """
    listed = _git(root, "ls-tree", "-r", "--name-only", commit, "--", *CORE, "packages", TESTS, DOCS, "README.md")
    names = [name for name in listed.decode().splitlines() if room_of(name)]
    texts = io.BytesIO(_git(root, "cat-file", "--batch", sent="".join(f"{commit}:{name}\n" for name in names)))
    rooms = Rooms()
    for name in names:
        _, _, size = texts.readline().split()
        text = texts.read(int(size))
        texts.readline()
        amount, files = rooms.get(room_of(name), (0, 0))
        rooms[room_of(name)] = amount + len(text.split() if name.endswith(".md") else text.splitlines()), files + 1
    return rooms


def room_of(name: str) -> str:
    """Return the folder of a file below its top folder, or the top folder; empty for a file that does not count.

    The top folders of a package are below `packages/NAME`.
    """
    parts = name.split("/")
    if parts[0] == "packages":
        parts = parts[2:]
    if parts[0] in (DOCS, "README.md"):
        return DOCS if name.endswith(".md") else ""
    if not name.endswith(".py"):
        return ""
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def rows(before: Rooms, now: Rooms) -> list[tuple[str, int, int, int, int]]:
    """Return the rows of the table: the rooms of the product; sums of the core, each package, all; tests; docs."""
    known = sorted({*before, *now})
    by_top = {top: [room for room in known if room.partition("/")[0] == top] for top in (*CORE, *PACKAGES, TESTS)}
    rooms = [(room, [room]) for top in (*CORE, *PACKAGES) for room in by_top[top]]
    rooms.append(("core", [room for top in CORE for room in by_top[top]]))
    rooms += [(package, by_top[package]) for package in PACKAGES]
    rooms.append(("product", [room for top in (*CORE, *PACKAGES) for room in by_top[top]]))
    rooms.append((TESTS, by_top[TESTS]))
    rooms.append(("docs (words, pages)", [DOCS]))
    return [(name, *_total(before, members), *_total(now, members)) for name, members in rooms]


def published() -> dict[str, Rooms]:
    """Return the published counts by their commit: before, and now."""
    found = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return {
        commit: {room: (amount, files) for room, (amount, files) in rooms.items()} for commit, rooms in found.items()
    }


def main() -> None:
    """Print the table, or publish the counts."""
    words = [word for word in sys.argv[1:] if word != "--publish"] or ["HEAD"]
    commit = _git(ROOT, "rev-parse", "--short=8", *words).decode().strip()
    before, now = counted(BEFORE), counted(commit)
    if "--publish" in sys.argv:
        PUBLISHED.write_text(json.dumps({BEFORE: before, commit: now}) + "\n", encoding="utf-8")
        print(PUBLISHED.relative_to(ROOT))
        return
    print(f"{'':22}{BEFORE:>18}{commit:>18}\n{'room':22}" + f"{'lines':>10}{'files':>8}" * 2)
    for room, *counts in rows(before, now):
        print(f"{room:22}" + "".join(f"{count:>{width},}" for count, width in zip(counts, (10, 8, 10, 8), strict=True)))


def _total(rooms: Rooms, members: list[str]) -> tuple[int, int]:
    found = [rooms[room] for room in members if room in rooms]
    return sum(amount for amount, _ in found), sum(files for _, files in found)


def _git(root: Path, *arguments: str, sent: str = "") -> bytes:
    return subprocess.run(["git", *arguments], cwd=root, input=sent.encode(), capture_output=True, check=True).stdout


if __name__ == "__main__":
    main()
