"""Writes what a release shows of the kept home, and what its runs come to when they are resumed, for later releases.

    python make_expected.py

reads `journal.sqlite3.gz` beside this file and writes the folder `expected`, which is kept as `expected.zip`. It is run
once, with the release that has written the journal, and never again: what a later release shows is compared with this.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from showing import ENVIRONMENT, HERE, LISTS, RESUMED, VIEWS, called, kept, resumed, runs, unpack

from replan.cli.app import app

CHILDREN = ("parent001.367efd6c", "parent002.367efd6c", "crashed02.367efd6c")


def main(out, scratch):
    """Write everything; each command has a copy of the home to itself."""
    copies = (unpack(scratch / str(number)) for number in range(10_000))
    for name, arguments in LISTS.items():
        done = called(app, next(copies), *arguments)
        assert done.exit_code == 0, done.output
        (out / f"{name}.txt").write_text(kept(done.stdout, name), encoding="utf-8")
    for run in (*runs(app, next(copies)), *CHILDREN):
        for view, options in VIEWS.items():
            done = called(app, next(copies), "show", run, *options)
            if view in ("plan", "mermaid") and done.exit_code == 2:
                assert "has no proved plan" in done.output or "makes no plan" in done.output, done.output
                continue
            assert done.exit_code == 0, (run, view, done.output, done.exception)
            (out / f"{run}.{view}.txt").write_text(kept(done.stdout, view), encoding="utf-8")
    for run in RESUMED:
        for name, text in resumed(app, next(copies), run):
            (out / f"{name}.resumed.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import os

    os.environ.update(ENVIRONMENT)
    time.tzset()
    written = Path(sys.argv[1]) if sys.argv[1:] else HERE / "expected"
    shutil.rmtree(written, ignore_errors=True)
    written.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        main(written, Path(folder))
