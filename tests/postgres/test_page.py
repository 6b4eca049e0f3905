"""The how-to of Postgres is followed as it is rendered, against the server of the tests."""

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.samples import PROBLEM
from tests.docs.blocks import ROOT, blocks
from tests.support.postgres import program

PAGE = ROOT / "docs" / "how-to" / "use-postgres.md"
SHOWN = "postgresql://replan:PASSWORD@db.example.com/replan"
"""The address on the page, which stands for any."""
INSTALLED = "pip install 'replan[postgres]'\n"
"""The only command that is left out: the tests' environment has the extra."""


def test_the_page_is_followed_to_a_run_in_the_database(server, tmp_path):
    text = "".join(block.body for block in blocks(PAGE) if block.language == "sh")
    assert text.count(INSTALLED) == 1
    assert SHOWN in text
    (tmp_path / "problem.md").write_text(PROBLEM, encoding="utf-8")
    folders = [Path(sys.executable).parent, Path(program("createdb")).parent]
    environment = {
        "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]]),
        "REPLAN_HOME": str(tmp_path / "home"),
        "PGHOST": "127.0.0.1",
        "PGPORT": str(server.port),
        "PGUSER": "replan",
    }
    done = subprocess.run(
        ["sh", "-e", "-c", text.replace(INSTALLED, "").replace(SHOWN, server.url("replan"))],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert server.execute("replan", "SELECT status FROM replan.runs") == [("finished",)]
