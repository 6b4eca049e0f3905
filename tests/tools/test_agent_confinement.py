"""What a coding agent may write, as a program and as a tool of an MCP server, with real processes."""

import json
import subprocess
import sys

from actors.run.tools import ToolOutcome
from actors.tools import write_confinement
from actors.tools.agent_work import AgentWork
from tests.long.tools.test_snapshots import state_of

TRY = """
import json, os, pathlib, sys, tempfile
done = {}
for place in json.loads(sys.stdin.read()):
    path = pathlib.Path(place)
    try:
        path.write_text("by the agent")
        done[place] = ""
    except OSError as error:
        done[place] = error.strerror
with tempfile.TemporaryFile("w") as file:
    file.write("x")
pathlib.Path("a.py").write_text("two\\n")
print(json.dumps(done))
"""


async def test_an_agent_writes_nothing_but_its_worktree_its_temporary_files_and_what_is_declared(case):
    (case.bench.folder / "open").mkdir()
    case.pin(TRY)
    declared = [str(case.bench.folder / "open"), str(case.bench.folder / "not there")]
    spec = case.tools.tools["t"].model_copy(update={"writable": tuple(declared)})
    case.tools = case.tools.model_copy(update={"tools": {**case.tools.tools, "t": spec}})
    outside = [case.folder / "a.py", case.folder / ".git/hooks/pre-commit", case.folder / ".git/config"]
    outside += [case.bench.home / "journal", case.bench.folder / "tools.yaml", case.bench.folder / "new"]
    inside = [case.bench.folder / "open" / "x"]
    before = state_of(case.folder)
    base = await case.base()
    done = await case.work(base, prompt=json.dumps([str(path) for path in (*outside, *inside)]))
    assert done.outcome is ToolOutcome.SUCCEEDED, done.output
    assert json.loads(done.output) == {
        **{str(path): "Permission denied" for path in outside},
        **{str(path): "" for path in inside},
    }
    assert state_of(case.folder) == before
    assert AgentWork.model_validate_json((await case.record(base)).output).files == ("a.py",)


def test_paths_that_are_not_there_are_left_out_of_what_may_be_written(tmp_path):
    (tmp_path / "file").touch()
    paths = [str(tmp_path / "file" / "below"), str(tmp_path / "gone")]
    words = [sys.executable, "-I", "-S", write_confinement.__file__, "2", *paths, sys.executable, "-c", "print(1)"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


async def test_an_agent_that_may_write_anywhere_is_not_confined(case):
    case.pin(TRY)
    spec = case.tools.tools["t"].model_copy(update={"writable": None})
    case.tools = case.tools.model_copy(update={"tools": {**case.tools.tools, "t": spec}})
    place = str(case.bench.folder / "new")
    done = await case.work(await case.base(), prompt=json.dumps([place]))
    assert json.loads(done.output) == {place: ""}


SERVER = """
from pathlib import Path
from mcp.server.mcpserver import MCPServer

server = MCPServer("coder", log_level="ERROR")


@server.tool()
def code(task: str) -> str:
    Path("a.py").write_text(task)
    try:
        Path("OUTSIDE").write_text("x")
    except OSError as error:
        return error.strerror
    return "written outside"


server.run()
"""


async def test_a_tool_of_a_server_can_be_an_agent_within_the_same_limits(case):
    outside = case.folder / "b.py"
    (case.bench.folder / "server.py").write_text(SERVER.replace("OUTSIDE", str(outside)))
    words = json.dumps([sys.executable, str(case.bench.folder / "server.py")])
    case.tools = case.bench.pin(
        f"""
        mcp_servers: {{coder: {{command: {words}}}}}
        tools:
          t:
            agent:
              mcp: {{server: coder, tool: code, arguments: {{task: "{{prompt}}"}}}}
              instructions: Mend it.
              max_cost_usd: 1
              timeout_seconds: 60
        """
    )
    base = await case.base()
    done = await case.work(base, prompt="two\n")
    assert (done.outcome, done.output, done.cost.micro_usd) == (ToolOutcome.SUCCEEDED, "Permission denied", None)
    done = await case.record(base)
    assert AgentWork.model_validate_json(done.output).files == ("a.py",)
