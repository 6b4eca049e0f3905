"""Coding agents, with real processes and repositories: what they see and change, what is refused, and the merge."""

import json
import os
import subprocess
import sys
import time
from textwrap import dedent

import pytest

from actors.run.tools import ToolOutcome
from actors.tools import agent_calls, merging, worktrees, write_confinement
from actors.tools.agent_work import AgentWork, diff_use, merge_use
from actors.tools.snapshot_texts import snapshot_taken, snapshot_use
from actors.tools.uses import ToolUse, canonical
from actors.tools.workspace import open_workspace
from actors.tools.worktrees import DiffRecorder, check_git, remove_worktrees, temporary_folder, worktree_folder
from runtime.core.crash_points import install
from runtime.core.errors import UsageProblem
from runtime.logs.redact import Redactor
from runtime.process import group
from runtime.process.identity import end_of_group
from tests.tools.test_snapshots import git, state_of

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


class Office:
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

    def hire(self, code, report="none"):
        """Pin the agent."""
        (self.bench.folder / "agent.py").write_text(dedent(code))
        words = json.dumps([sys.executable, "-S", str(self.bench.folder / "agent.py")])
        self.tools = self.bench.pin(TOOLS.format(command=words, report=report))

    async def base(self):
        """Record the workspace, and return the commit."""
        done = await self.bench.call(self.tools, snapshot_use("start"), seconds=60.0)
        return snapshot_taken(done.output).id

    async def work(self, base, prompt="Do it.", seconds=60.0):
        """Have the agent work."""
        arguments = canonical({"prompt": prompt, "base": base, "name": NAME})
        use = ToolUse(tool="t", arguments=arguments, repeatable=False, risky=False, timeout_seconds=seconds)
        return await self.bench.call(self.tools, use, seconds=seconds)

    async def record(self, base, files=10, size=100_000):
        """Record its work."""
        return await self.bench.call(self.tools, diff_use(NAME, base, files, size), seconds=60.0)

    async def merge(self, work):
        """Merge its work."""
        return await self.bench.call(self.tools, merge_use(NAME, work.base, work.commit), seconds=60.0)

    async def recorded(self, code):
        """Have an agent do what code does, and return its work."""
        self.hire(code)
        base = await self.base()
        done = await self.work(base)
        assert done.outcome is ToolOutcome.SUCCEEDED, (done.reason, done.output)
        done = await self.record(base)
        assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
        return AgentWork.model_validate_json(done.output)

    @property
    def worktree(self):
        """The folder in which the agent works."""
        return worktree_folder(self.bench.home, "r", NAME)

    def files(self):
        """Return the files of the workspace with their contents."""
        found = {}
        for path in self.folder.rglob("*"):
            if ".git" not in path.parts and (path.is_file() or path.is_symlink()):
                name = str(path.relative_to(self.folder))
                found[name] = f"-> {path.readlink()}" if path.is_symlink() else path.read_text()
        return found


@pytest.fixture
def office(bench):
    return Office(bench)


EDIT = """
import os
open("a.py", "w").write("two\\n")
os.remove("sub/b.py")
open("c.sh", "w").write("c\\n")
os.chmod("c.sh", 0o755)
"""


async def test_the_work_of_an_agent_is_merged_and_nothing_else_of_the_workspace_is_touched(office):
    work = await office.recorded(EDIT)
    before = state_of(office.folder)
    assert work.files == ("a.py", "c.sh", "sub/b.py")
    assert "-one\n+two\n" in work.diff
    assert office.files()["a.py"] == "one\n", "nothing is merged before it is checked"
    assert not office.worktree.exists()
    done = await office.merge(work)
    assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
    assert office.files() == {
        ".gitignore": "ignored\n",
        "a.py": "two\n",
        "c.sh": "c\n",
        "new": "not committed\n",
        "ignored": "ignored\n",
    }
    assert os.access(office.folder / "c.sh", os.X_OK)
    assert not (office.folder / "sub").exists()
    assert state_of(office.folder)[:4] == before[:4]
    assert git(office.folder, "fsck", "--strict") == ""


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


async def test_an_agent_writes_nothing_but_its_worktree_its_temporary_files_and_what_is_declared(office):
    (office.bench.folder / "open").mkdir()
    office.hire(TRY)
    declared = [str(office.bench.folder / "open"), str(office.bench.folder / "not there")]
    spec = office.tools.tools["t"].model_copy(update={"writable": tuple(declared)})
    office.tools = office.tools.model_copy(update={"tools": {**office.tools.tools, "t": spec}})
    outside = [office.folder / "a.py", office.folder / ".git/hooks/pre-commit", office.folder / ".git/config"]
    outside += [office.bench.home / "journal", office.bench.folder / "tools.yaml", office.bench.folder / "new"]
    inside = [office.bench.folder / "open" / "x"]
    before = state_of(office.folder)
    base = await office.base()
    done = await office.work(base, prompt=json.dumps([str(path) for path in (*outside, *inside)]))
    assert done.outcome is ToolOutcome.SUCCEEDED, done.output
    assert json.loads(done.output) == {
        **{str(path): "Permission denied" for path in outside},
        **{str(path): "" for path in inside},
    }
    assert state_of(office.folder) == before
    assert AgentWork.model_validate_json((await office.record(base)).output).files == ("a.py",)


def test_paths_that_are_not_there_are_left_out_of_what_may_be_written(tmp_path):
    (tmp_path / "file").touch()
    paths = [str(tmp_path / "file" / "below"), str(tmp_path / "gone")]
    words = [sys.executable, "-I", "-S", write_confinement.__file__, "2", *paths, sys.executable, "-c", "print(1)"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"1\n", b"")


async def test_an_agent_that_may_write_anywhere_is_not_confined(office):
    office.hire(TRY)
    spec = office.tools.tools["t"].model_copy(update={"writable": None})
    office.tools = office.tools.model_copy(update={"tools": {**office.tools.tools, "t": spec}})
    place = str(office.bench.folder / "new")
    done = await office.work(await office.base(), prompt=json.dumps([place]))
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


async def test_a_tool_of_a_server_can_be_an_agent_within_the_same_limits(office):
    outside = office.folder / "b.py"
    (office.bench.folder / "server.py").write_text(SERVER.replace("OUTSIDE", str(outside)))
    words = json.dumps([sys.executable, str(office.bench.folder / "server.py")])
    office.tools = office.bench.pin(
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
    base = await office.base()
    done = await office.work(base, prompt="two\n")
    assert (done.outcome, done.output, done.cost.micro_usd) == (ToolOutcome.SUCCEEDED, "Permission denied", None)
    done = await office.record(base)
    assert AgentWork.model_validate_json(done.output).files == ("a.py",)


async def test_an_agent_sees_its_prompt_the_files_as_they_are_and_the_declared_variables(office):
    office.hire(
        """
        import json, os, subprocess, sys
        log = subprocess.run(["git", "log", "--format=%s"], capture_output=True, text=True).stdout.split()
        status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True).stdout
        print(json.dumps([sys.stdin.read(), sorted(os.listdir()), log[-1], status, "SECRET" in os.environ]))
        """
    )
    done = await office.work(await office.base(), prompt="$(touch x) `y`; Grüße")
    assert json.loads(done.output) == [
        "$(touch x) `y`; Grüße",
        [".git", ".gitignore", "a.py", "new", "sub"],
        "first",
        "",
        False,
    ]


async def test_what_an_agent_does_to_its_git_changes_nothing_in_the_workspaces_repository(office):
    before = state_of(office.folder)
    config = (office.folder / ".git" / "config").read_bytes()
    work = await office.recorded(
        """
        import subprocess
        def git(*words): subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)
        open("a.py", "w").write("two\\n")
        git("commit", "-qam", "by the agent"); git("branch", "-f", "main"); git("tag", "t"); git("stash", "list")
        git("config", "core.hooksPath", "/tmp"); open(".git/hooks", "w").close()
        """
    )
    assert work.files == ("a.py",)
    assert state_of(office.folder) == before
    assert (office.folder / ".git" / "config").read_bytes() == config


@pytest.mark.parametrize(
    "code",
    [
        "import shutil; shutil.rmtree('.git')",
        "import shutil; shutil.rmtree('.git'); open('.git', 'w').write('gitdir: /nowhere')",
        "import shutil, os; shutil.rmtree('.git'); os.symlink('/etc', '.git')",
        "open('.git/config', 'a').write('[core]\\n\\tfsmonitor = /bin/false\\n\\tworktree = /\\n')",
        "import os; os.mkfifo('.git/index.lock'); os.remove('.git/HEAD')",
    ],
)
async def test_the_git_of_a_worktree_is_never_read(office, code):
    work = await office.recorded(f"open('a.py', 'w').write('two\\n')\n{code}")
    assert work.files == ("a.py",)
    assert (await office.merge(work)).outcome is ToolOutcome.SUCCEEDED


async def test_a_pipe_in_the_place_of_a_file_stops_nothing_for_long(office, monkeypatch):
    monkeypatch.setattr(worktrees, "GIT_SECONDS", 1.0)
    office.hire("import os; os.remove('.gitignore'); os.mkfifo('.gitignore')")
    base = await office.base()
    assert (await office.work(base)).outcome is ToolOutcome.SUCCEEDED
    done = await office.record(base)
    assert done.outcome is not ToolOutcome.SUCCEEDED
    assert "\n" not in done.reason


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import os; os.symlink('/etc/passwd', 'l')", "it adds a symbolic link that leads out of the worktree: 'l'"),
        (
            "import os; os.symlink('../../a', 'sub/l')",
            "it adds a symbolic link that leads out of the worktree: 'sub/l'",
        ),
        ("import os; os.symlink('.git/config', 'l')", "it adds a symbolic link that leads out of the worktree: 'l'"),
        ("open('.gitmodules', 'w').write('x')", "it changes a submodule: '.gitmodules'"),
        ("import subprocess; subprocess.run(['git', 'init', '-q', 'lib'])", "lib/ is a repository of its own"),
        ("for n in range(11): open(f'f{n}', 'w').write(str(n))", "it changes 11 files, and may change 10 (max_files)"),
        ("import os; open('f', 'w').write(os.urandom(90_000).hex())", "its diff has 1"),
        ("open('f', 'wb').truncate(40_000_000)", "f is a repository of its own, too large, or no file"),
    ],
)
async def test_work_that_leads_out_of_the_worktree_or_is_too_large_is_refused(office, code, cause):
    office.hire(code)
    base = await office.base()
    done = await office.work(base)
    assert done.outcome is ToolOutcome.SUCCEEDED, (done.reason, done.output)
    before = office.files()
    done = await office.record(base)
    assert done.outcome is ToolOutcome.FAILED
    assert f"the agent's work is refused: {cause}" in done.reason
    assert len(done.output.encode()) <= 100_100
    assert not office.worktree.exists()
    assert office.files() == before


async def test_a_link_inside_of_the_worktree_is_merged(office):
    work = await office.recorded(
        "import os; os.symlink('../a.py', 'sub/l'); os.remove('new'); os.symlink('a.py', 'new')"
    )
    assert (await office.merge(work)).outcome is ToolOutcome.SUCCEEDED
    assert {key: office.files()[key] for key in ("sub/l", "new")} == {"sub/l": "-> ../a.py", "new": "-> a.py"}


ENDS = ToolOutcome


@pytest.mark.parametrize(
    ("code", "report", "end"),
    [
        (f"print('''{DONE % 0.5}''')", "claude", (ENDS.SUCCEEDED, "", 500_000)),
        (
            f"print('''{DONE % 1.5}''')",
            "claude",
            (ENDS.FAILED, "it cost $1.50, and may cost $1.00 (max_cost_usd)", 1_500_000),
        ),
        (f"print('''{DONE % 0.5}'''); import sys; sys.exit(3)", "claude", (ENDS.FAILED, "exit code 3", 500_000)),
        ("print('no JSON')", "claude", (ENDS.FAILED, "its output is not what `report: claude` says", None)),
        ("print('Mended.')", "none", (ENDS.SUCCEEDED, "", None)),
        ("import os; os.kill(os.getpid(), 9)", "none", (ENDS.BROKEN, "ended by signal 9", None)),
    ],
)
async def test_how_an_agent_ends_is_the_outcome_and_an_unknown_cost_is_none(office, code, report, end):
    outcome, reason, cost = end
    office.hire(f"open('a.py', 'w').write('two')\n{code}", report)
    done = await office.work(await office.base())
    assert done.outcome is outcome, (done.reason, done.output)
    assert done.reason.startswith(reason)
    assert done.cost.micro_usd == cost
    kept = git(office.folder, "for-each-ref", "--format=%(refname)", "refs/replan/r")
    assert office.worktree.exists() is (outcome is ToolOutcome.SUCCEEDED)
    assert ("unfinished" in kept) is not office.worktree.exists(), "what it has changed is kept"


async def test_an_agent_that_takes_too_long_is_ended_with_all_its_children_and_its_worktree_is_thrown_away(
    office, monkeypatch
):
    monkeypatch.setattr(group, "GRACE_SECONDS", 0.3)
    office.hire(
        """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("a.py", "w").write("two")
        os.fork()
        time.sleep(60)
        """
    )
    base = await office.base()
    begun = time.monotonic()
    done = await office.work(base, seconds=1.0)
    assert (done.outcome, done.reason) == (ToolOutcome.TRANSIENT, "it took longer than 1 s")
    assert time.monotonic() - begun < 20
    assert end_of_group(office.bench.begun[-1].process) is True
    assert not office.worktree.exists()
    kept = git(office.folder, "for-each-ref", "--format=%(refname)", "refs/replan/r/*unfinished*")
    assert git(office.folder, "show", f"{kept}:a.py") == "two"
    assert office.files()["a.py"] == "one\n"


async def test_a_flood_of_output_is_read_to_its_end_and_its_last_part_counts(office, monkeypatch):
    monkeypatch.setattr(agent_calls, "REPORT_BYTES_MAX", 10_000)
    office.hire(
        f"import sys\nprint('x\\n' * 5_000_000)\nsys.stderr.write('e' * 5_000_000)\nprint('''{DONE % 0.5}''')", "claude"
    )
    done = await office.work(await office.base())
    assert (done.outcome, done.output, done.cost.micro_usd) == (ToolOutcome.SUCCEEDED, "Mended.", 500_000)


async def test_the_secrets_of_the_driver_do_not_stand_in_what_is_stored(office, monkeypatch):
    secret = "s3cret-value-of-the-driver"
    monkeypatch.setitem(sys.modules["tests.tools.calling"].ENVIRONMENT, "API_KEY", secret)
    office.hire(f"print('{secret}'); open('a.py', 'w').write('{secret}')")
    base = await office.base()
    done = await office.work(base)
    assert secret not in done.output
    assert secret not in (await office.record(base)).output


async def test_no_part_of_a_secret_stands_in_errors_that_are_cut(office, monkeypatch):
    secret = "s3cret-value-of-the-driver"
    monkeypatch.setitem(sys.modules["tests.tools.calling"].ENVIRONMENT, "API_KEY", secret)
    monkeypatch.setattr(agent_calls, "ERROR_BYTES_MAX", 100)
    for filler in (85, 300):
        office.hire(f"import sys; sys.stderr.write('y' * {filler} + '{secret}\\n' + 'x' * 85 + '\\n'); sys.exit(1)")
        done = await office.work(await office.base())
        assert done.output.strip() == "x" * 85


async def test_no_part_of_a_secret_stands_in_a_diff_that_is_cut(office, monkeypatch):
    secret = "s3cret-value-of-the-driver"
    monkeypatch.setitem(sys.modules["tests.tools.calling"].ENVIRONMENT, "API_KEY", secret)
    office.hire(f"open('a.py', 'w').write('{secret}' * 20)")
    base = await office.base()
    for size in (230, 235):
        await office.work(base)
        done = await office.record(base, size=size)
        assert "max_diff_bytes" in done.reason
        assert done.output
        assert secret[:4] not in done.output


async def test_a_check_sees_the_work_before_it_is_merged_and_cannot_change_it(office):
    work = await office.recorded("open('a.py', 'w').write('two\\n')")
    tool = ToolUse(tool="holds", arguments="{}", repeatable=True, risky=False, timeout_seconds=20.0)
    assert (await office.bench.call(office.tools, tool)).outcome is ToolOutcome.FAILED
    assert (await office.bench.call(office.tools, tool, commit=work.commit)).outcome is ToolOutcome.SUCCEEDED
    assert (await office.bench.call(office.tools, tool, commit="0" * 40)).outcome is ToolOutcome.PERMANENT
    assert [path.name for path in (office.bench.home / "worktrees" / "r").iterdir()] == []


async def test_changes_in_other_places_are_merged_with_those_of_the_workspace(office):
    (office.folder / "a.py").write_text("".join(f"{n}\n" for n in range(20)))
    work = await office.recorded("t = open('a.py').read(); open('a.py', 'w').write('first\\n' + t)")
    with (office.folder / "a.py").open("a") as file:
        file.write("last\n")
    assert (await office.merge(work)).outcome is ToolOutcome.SUCCEEDED
    assert office.files()["a.py"] == "first\n" + "".join(f"{n}\n" for n in range(20)) + "last\n"


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("open('a.py', 'w').write('two\\n')", lambda folder: (folder / "a.py").write_text("three\n")),
        ("open('a.py', 'w').write('two\\n')", lambda folder: (folder / "a.py").unlink()),
        ("open('d', 'w').write('two\\n')", lambda folder: (folder / "d").write_text("three\n")),
        ("import os; os.remove('.gitignore'); open('ignored', 'w').write('two\\n')", lambda folder: None),
        ("open('d', 'w').write('two\\n')", lambda folder: (folder / "d").mkdir()),
        ("open('d', 'w').write('two\\n')", lambda folder: (folder / "d").symlink_to("/etc/passwd")),
    ],
)
async def test_a_conflict_is_one_clear_line_and_no_file_is_changed(office, code, change):
    work = await office.recorded(f"{code}; open('other', 'w').write('x')")
    change(office.folder)
    before = office.files()
    done = await office.merge(work)
    assert done.outcome is ToolOutcome.FAILED, done.output
    assert done.reason.startswith("merge conflict: ")
    assert "\n" not in done.reason
    assert office.files() == before


class Killed(BaseException):
    """The driver was killed."""


@pytest.mark.parametrize(("label", "nth"), [("merge.begun", 1), ("merge.written", 1), ("merge.written", 2)])
async def test_a_merge_that_was_cut_short_is_finished_under_its_name(office, label, nth):
    work = await office.recorded(EDIT)
    seen = []

    def kill(name):
        seen.append(name)
        if seen.count(label) == nth:
            raise Killed

    with open_workspace(office.folder, office.bench.home, "r") as workspace:
        install(kill)
        try:
            with pytest.raises(Killed):
                merging.merge_work(workspace, json.loads(merge_use(NAME, work.base, work.commit).arguments))
        finally:
            install(None)
    (office.folder / "other").write_text("written meanwhile\n")
    assert (await office.merge(work)).outcome is ToolOutcome.SUCCEEDED
    assert {key: office.files().get(key) for key in ("a.py", "c.sh", "sub/b.py", "other")} == {
        "a.py": "two\n",
        "c.sh": "c\n",
        "sub/b.py": None,
        "other": "written meanwhile\n",
    }


async def test_a_merge_that_was_made_is_not_made_again(office):
    work = await office.recorded(EDIT)
    first = await office.merge(work)
    (office.folder / "a.py").write_text("changed after the merge\n")
    again = await office.merge(work)
    assert (again.outcome, again.output) == (ToolOutcome.SUCCEEDED, first.output)
    assert office.files()["a.py"] == "changed after the merge\n"


async def test_work_is_recorded_again_after_its_worktree_was_removed(office):
    work = await office.recorded(EDIT)
    again = await office.record(work.base)
    assert AgentWork.model_validate_json(again.output) == work


async def test_a_worktree_that_a_killed_driver_has_removed_in_part_is_not_recorded(office, monkeypatch):
    office.hire("open('c', 'w').write('c')")
    base = await office.base()
    await office.work(base)

    def cut_short(folder):
        for path in folder.glob("*.py"):
            path.unlink()
        raise Killed

    with monkeypatch.context() as patched, open_workspace(office.folder, office.bench.home, "r") as workspace:
        patched.setattr(worktrees.shutil, "rmtree", cut_short)
        with pytest.raises(Killed):
            DiffRecorder(Redactor())(workspace, json.loads(diff_use(NAME, base, 10, 10_000).arguments))
    done = await office.record(base)
    assert AgentWork.model_validate_json(done.output).files == ("c",)


async def test_a_process_that_a_check_has_left_harms_nothing(office, monkeypatch):
    work = await office.recorded("open('a.py', 'w').write('two\\n')")
    tool = ToolUse(tool="holds", arguments="{}", repeatable=True, risky=False, timeout_seconds=20.0)

    def busy(folder):
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(worktrees.shutil, "rmtree", busy)
    assert (await office.bench.call(office.tools, tool, commit=work.commit)).outcome is ToolOutcome.SUCCEEDED


async def test_the_record_of_another_base_and_of_no_worktree_is_refused(office):
    work = await office.recorded(EDIT)
    done = await office.record(work.commit)
    assert (done.outcome, done.reason) == (
        ToolOutcome.FAILED,
        "this run has no worktree of the agent's work, which a fork does not copy",
    )


async def test_a_folder_that_the_agent_has_locked_is_removed(office):
    work = await office.recorded("import os; os.makedirs('x/y'); open('x/y/z', 'w').close(); os.chmod('x/y', 0o500)")
    assert work.files == ("x/y/z",)
    assert not office.worktree.exists()


def test_a_workspace_without_git_is_refused_in_one_line(tmp_path, monkeypatch):
    with pytest.raises(UsageProblem, match="the agent 'coder' needs the top folder of a git repository"):
        check_git(tmp_path, "coder")
    (tmp_path / ".git").mkdir()
    with pytest.raises(UsageProblem, match="git cannot use this one: git rev-parse: fatal: not a git repository"):
        check_git(tmp_path, "coder")
    git(tmp_path, "init", "-q")
    check_git(tmp_path, "coder")
    monkeypatch.setattr(worktrees, "GIT_VERSION", (99, 0))
    with pytest.raises(UsageProblem, match=r"needs git 99\.0 or newer, and git version"):
        check_git(tmp_path, "coder")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageProblem, match=r"needs git 99\.0 or newer, and there is none"):
        check_git(tmp_path, "coder")


def test_what_a_killed_driver_has_left_is_removed_but_for_what_is_at_work(tmp_path):
    for name in ("a/r1.v1.a1", "b/r1.v1.a1"):
        folder = worktree_folder(tmp_path, "r", name)
        for each in (folder, temporary_folder(folder)):
            each.mkdir(parents=True)
            (each / "file").touch()
        folder.with_name(f"{folder.name}.index").touch()
    remove_worktrees(tmp_path, "r", kept=["b/r1.v1.a1"])
    kept = worktree_folder(tmp_path, "r", "b/r1.v1.a1")
    above = tmp_path / "worktrees" / "r"
    assert {each.name for each in above.iterdir()} == {kept.name, f"{kept.name}.tmp", f"{kept.name}.index"}
    remove_worktrees(tmp_path, "r")
    assert not above.exists()
    remove_worktrees(tmp_path, "r")
