"""A hard link in the workspace to a file outside of it: what a model writes replaces the link, not the file."""

import os

from actors.run.tools import ToolOutcome
from tests.tools.calling import Bench
from tests.tools.test_file_calls import NO_TOOLS, USE


async def test_a_file_outside_of_the_workspace_is_not_changed_through_a_hard_link(tmp_path):
    bench = Bench(tmp_path)
    outside, inside = tmp_path / "outside.py", bench.workspace / "src" / "login.py"
    outside.write_text("kept\n")
    inside.parent.mkdir()
    os.link(outside, inside)
    done = await bench.call(NO_TOOLS, USE.writing("new\n"))
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert (outside.read_text(), inside.read_text()) == ("kept\n", "new\n")
    assert outside.stat().st_nlink == inside.stat().st_nlink == 1
