"""A coding agent, with real processes and repositories, for tests of its calls."""

import json
import sys
from textwrap import dedent

from actors.run.tools import ToolOutcome
from actors.tools.agent_work import AgentWork, diff_use, merge_use
from actors.tools.snapshot_texts import read_snapshot, snapshot_use
from actors.tools.uses import ToolUse, canonical
from actors.tools.worktrees import worktree_folder
from tests.long.tools.test_snapshots import git

NAME = "fix/r1.v1.a1"

TOOLS = """
tools:
  t:
    agent:
      command: {command}
      instructions: Mend it.
      report: {report}
      max_cost_usd: 1
      timeout_seconds: 60
      environment: [PATH, TOKEN=x]
  holds: {{command: [grep, -q, two, a.py], repeatable: true}}
"""

DONE = '{"type": "result", "subtype": "success", "is_error": false, "result": "Mended.", "total_cost_usd": %s}'

EDIT = """
import os
open("a.py", "w").write("two\\n")
os.remove("sub/b.py")
open("c.sh", "w").write("c\\n")
os.chmod("c.sh", 0o755)
"""


class AgentCase:
    """A repository as a workspace, and an agent that runs Python code."""

    def __init__(self, bench):
        self.bench, self.folder = bench, bench.workspace
        git(self.folder, "init", "-q", "-b", "main")
        (self.folder / ".gitignore").write_text("ignored\n")
        (self.folder / "a.py").write_text("one\n")
        (self.folder / "sub").mkdir()
        (self.folder / "sub" / "b.py").write_text("b\n")
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "first")
        (self.folder / "new").write_text("not committed\n")
        (self.folder / "ignored").write_text("ignored\n")

    def pin(self, code, report="none"):
        (self.bench.folder / "agent.py").write_text(dedent(code))
        words = json.dumps([sys.executable, "-S", str(self.bench.folder / "agent.py")])
        self.tools = self.bench.pin(TOOLS.format(command=words, report=report))

    async def base(self):
        """Record the workspace, and return the commit."""
        done = await self.bench.call(self.tools, snapshot_use("start"), seconds=60.0)
        return read_snapshot(done.output).id

    async def work(self, base, prompt="Do it.", seconds=60.0, name=NAME):
        arguments = canonical({"prompt": prompt, "base": base, "name": name})
        use = ToolUse(tool="t", arguments=arguments, repeatable=False, risky=False, timeout_seconds=seconds)
        return await self.bench.call(self.tools, use, seconds=seconds)

    async def record(self, base, files=10, size=100_000):
        return await self.bench.call(self.tools, diff_use(NAME, base, files, size), seconds=60.0)

    async def merge(self, work):
        return await self.bench.call(self.tools, merge_use(NAME, work.base, work.commit), seconds=60.0)

    async def recorded(self, code):
        self.pin(code)
        base = await self.base()
        done = await self.work(base)
        assert done.outcome is ToolOutcome.SUCCEEDED, (done.reason, done.output)
        done = await self.record(base)
        assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
        return AgentWork.model_validate_json(done.output)

    @property
    def worktree(self):
        return worktree_folder(self.bench.home, "r", NAME)

    def files(self):
        found = {}
        for path in self.folder.rglob("*"):
            if ".git" not in path.parts and (path.is_file() or path.is_symlink()):
                name = str(path.relative_to(self.folder))
                found[name] = f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        return found


class Killed(BaseException):
    """The driver was killed."""
