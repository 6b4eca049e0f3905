"""Worktrees of coding agents: how their work is recorded or refused, how it is checked, and how they are removed."""

import json
import sys

import pytest

from actors.run.tools import ToolOutcome
from actors.tools import agent_calls, worktrees
from actors.tools.agent_calls import clear_worktrees
from actors.tools.agent_work import AgentWork, diff_use
from actors.tools.repository import GitFailed
from actors.tools.snapshot_texts import read_snapshot, snapshot_use
from actors.tools.uses import ToolUse
from actors.tools.workspace import open_workspace
from actors.tools.worktrees import (
    DiffRecorder,
    check_git,
    commit_worktree,
    remove_worktrees,
    temporary_folder,
    worktree_folder,
)
from runtime.core.errors import UsageProblem
from runtime.logs.redact import Redactor
from tests.long.tools.test_snapshots import git, state_of
from tests.tools.agent_case import EDIT, NAME, Killed


def test_a_workspace_without_git_is_refused_in_one_line(tmp_path, monkeypatch):
    with pytest.raises(UsageProblem, match="the agent 'coder' needs the top folder of a git repository"):
        check_git(tmp_path, "coder")
    (tmp_path / ".git").mkdir()
    with pytest.raises(
        UsageProblem, match="git cannot use this repository: git rev-parse: fatal: not a git repository"
    ):
        check_git(tmp_path, "coder")
    git(tmp_path, "init", "-q")
    check_git(tmp_path, "coder")
    monkeypatch.setattr(worktrees, "GIT_VERSION", (99, 0))
    with pytest.raises(UsageProblem, match=r"needs git 99\.0 or newer, but this machine has git version"):
        check_git(tmp_path, "coder")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageProblem, match=r"needs git 99\.0 or newer, but git is not installed"):
        check_git(tmp_path, "coder")


async def test_what_an_agent_does_to_its_git_changes_nothing_in_the_workspaces_repository(case):
    before = state_of(case.folder)
    config = (case.folder / ".git" / "config").read_bytes()
    work = await case.recorded(
        """
        import subprocess
        def git(*words): subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)
        open("a.py", "w").write("two\\n")
        git("commit", "-qam", "by the agent"); git("branch", "-f", "main"); git("tag", "t"); git("stash", "list")
        git("config", "core.hooksPath", "/tmp"); open(".git/hooks", "w").close()
        """
    )
    assert work.files == ("a.py",)
    assert state_of(case.folder) == before
    assert (case.folder / ".git" / "config").read_bytes() == config


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
async def test_the_git_of_a_worktree_is_never_read(case, code):
    work = await case.recorded(f"open('a.py', 'w').write('two\\n')\n{code}")
    assert work.files == ("a.py",)
    assert (await case.merge(work)).outcome is ToolOutcome.SUCCEEDED


LEADS_OUT = "it adds a symbolic link that leads out of the worktree"


async def test_a_pipe_in_the_place_of_a_file_stops_nothing_for_long(case, monkeypatch):
    monkeypatch.setattr(worktrees, "GIT_SECONDS", 1.0)
    case.pin("import os; os.remove('.gitignore'); os.mkfifo('.gitignore')")
    base = await case.base()
    assert (await case.work(base)).outcome is ToolOutcome.SUCCEEDED
    done = await case.record(base)
    assert done.outcome is not ToolOutcome.SUCCEEDED
    assert "\n" not in done.reason


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("import os; os.symlink('/etc/passwd', 'l')", f"{LEADS_OUT}: 'l'"),
        ("import os; os.symlink('../../a', 'sub/l')", f"{LEADS_OUT}: 'sub/l'"),
        ("import os; os.symlink('.git/config', 'l')", f"{LEADS_OUT}: 'l'"),
        ("open('.gitmodules', 'w').write('x')", "it changes a submodule: '.gitmodules'"),
        (
            "import subprocess; subprocess.run(['git', 'init', '-q', 'lib'])",
            "a nested repository, or a file that is too large or not regular: lib/",
        ),
        (
            "for n in range(11): open(f'f{n}', 'w').write(str(n))",
            "it changes 11 files, over the limit of 10 (max_files)",
        ),
        ("import os; open('f', 'w').write(os.urandom(90_000).hex())", "its diff has 1"),
        ("open('f', 'wb').truncate(40_000_000)", "a nested repository, or a file that is too large or not regular: f"),
    ],
)
async def test_work_that_leads_out_of_the_worktree_or_is_too_large_is_refused(case, code, cause):
    case.pin(code)
    base = await case.base()
    done = await case.work(base)
    assert done.outcome is ToolOutcome.SUCCEEDED, (done.reason, done.output)
    before = case.files()
    done = await case.record(base)
    assert done.outcome is ToolOutcome.FAILED
    assert f"the agent's work is refused: {cause}" in done.reason
    assert len(done.output.encode()) <= 100_100
    assert not case.worktree.exists()
    assert case.files() == before


async def test_no_part_of_a_secret_stands_in_a_diff_that_is_cut(case, monkeypatch):
    secret = "s3cret-value-of-the-driver"
    monkeypatch.setitem(sys.modules["tests.tools.calling"].ENVIRONMENT, "API_KEY", secret)
    case.pin(f"open('a.py', 'w').write('{secret}' * 20)")
    base = await case.base()
    for size in (230, 235):
        await case.work(base)
        done = await case.record(base, size=size)
        assert "max_diff_bytes" in done.reason
        assert done.output
        assert secret[:4] not in done.output


async def test_work_is_recorded_again_after_its_worktree_was_removed(case):
    work = await case.recorded(EDIT)
    again = await case.record(work.base)
    assert AgentWork.model_validate_json(again.output) == work


async def test_a_worktree_that_a_killed_driver_has_removed_in_part_is_not_recorded(case, monkeypatch):
    case.pin("open('c', 'w').write('c')")
    base = await case.base()
    await case.work(base)

    def cut_short(folder):
        for path in folder.glob("*.py"):
            path.unlink()
        raise Killed

    with monkeypatch.context() as patched, open_workspace(case.folder, case.bench.home, "r") as workspace:
        patched.setattr(worktrees.shutil, "rmtree", cut_short)
        with pytest.raises(Killed):
            DiffRecorder(Redactor())(workspace, json.loads(diff_use(NAME, base, 10, 10_000).arguments))
    done = await case.record(base)
    assert AgentWork.model_validate_json(done.output).files == ("c",)


async def test_the_record_of_another_base_and_of_no_worktree_is_refused(case):
    work = await case.recorded(EDIT)
    done = await case.record(work.commit)
    assert (done.outcome, done.reason) == (
        ToolOutcome.FAILED,
        "the worktree with the agent's work is missing in this run; a fork does not copy it",
    )


HOLDS = ToolUse(tool="holds", arguments="{}", repeatable=True, risky=False, timeout_seconds=20.0)


async def test_a_check_sees_the_work_before_it_is_merged_and_cannot_change_it(case):
    work = await case.recorded("open('a.py', 'w').write('two\\n')")
    assert (await case.bench.call(case.tools, HOLDS)).outcome is ToolOutcome.FAILED
    assert (await case.bench.call(case.tools, HOLDS, commit=work.commit)).outcome is ToolOutcome.SUCCEEDED
    assert (await case.bench.call(case.tools, HOLDS, commit="0" * 40)).outcome is ToolOutcome.PERMANENT
    assert [path.name for path in (case.bench.home / "worktrees" / "r").iterdir()] == []


async def test_a_process_that_a_check_has_left_harms_nothing(case, monkeypatch):
    work = await case.recorded("open('a.py', 'w').write('two\\n')")

    def busy(folder):
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr(worktrees.shutil, "rmtree", busy)
    assert (await case.bench.call(case.tools, HOLDS, commit=work.commit)).outcome is ToolOutcome.SUCCEEDED


async def test_a_folder_that_the_agent_has_locked_is_removed(case):
    work = await case.recorded("import os; os.makedirs('x/y'); open('x/y/z', 'w').close(); os.chmod('x/y', 0o500)")
    assert work.files == ("x/y/z",)
    assert not case.worktree.exists()


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


def kept_work(case):
    [ref] = git(case.folder, "for-each-ref", "--format=%(refname)", "refs/replan/r/*unfinished*").split()
    assert git(case.folder, "show", f"{ref}:c") == "an hour of work"
    return ref


async def test_what_a_killed_driver_has_left_of_an_ended_attempt_is_kept_as_a_commit(case):
    case.pin("open('c', 'w').write('an hour of work')")
    start = await case.base()
    taken = await case.bench.call(case.tools, snapshot_use(f"{NAME}.base", start), seconds=60.0)
    base = read_snapshot(taken.output).id
    await case.work(base)
    with open_workspace(case.folder, case.bench.home, "r") as workspace:
        clear_worktrees(workspace, [NAME])
        assert case.worktree.exists()
        clear_worktrees(workspace, [])
    assert not case.worktree.exists()
    assert git(case.folder, "rev-parse", f"{kept_work(case)}^").strip() == base


async def test_the_work_of_an_attempt_is_kept_where_that_of_another_one_cannot_be(case, monkeypatch):
    case.pin("open('c', 'w').write('an hour of work')")
    for name in (NAME, f"other/{NAME}"):
        taken = await case.bench.call(case.tools, snapshot_use(f"{name}.base", ""), seconds=60.0)
        await case.work(read_snapshot(taken.output).id, name=name)
    seen = []

    def fails_once(repository, folder, *rest):
        seen.append(folder)
        if len(seen) == 1:
            raise GitFailed("the object is damaged")
        return commit_worktree(repository, folder, *rest)

    monkeypatch.setattr(agent_calls, "commit_worktree", fails_once)
    with open_workspace(case.folder, case.bench.home, "r") as workspace:
        clear_worktrees(workspace, [])
    assert len(seen) == 2
    assert not any(folder.exists() for folder in seen)
    kept_work(case)


async def test_what_an_agent_left_that_a_person_said_has_failed_is_kept(case):
    case.pin("open('c', 'w').write('an hour of work')")
    base = await case.base()
    await case.work(base)
    (case.folder / "a.py").write_text("changed since\n")
    again = await case.base()
    assert (await case.work(again, name=NAME.replace("a1", "a2"))).outcome is ToolOutcome.SUCCEEDED
    assert not case.worktree.exists()
    kept_work(case)
