"""Work of coding agents that changes what is a file, a folder or a link, and what is kept of work that has failed."""

import json

import pytest

from actors.run.tools import ToolOutcome
from actors.tools import merging
from actors.tools.agent_calls import clear_worktrees
from actors.tools.agent_work import merge_use
from actors.tools.snapshot_texts import snapshot_taken, snapshot_use
from actors.tools.uses import ToolUse, canonical
from actors.tools.workspace import open_workspace
from tests.tools.test_agents import NAME, Killed, Office
from tests.tools.test_snapshots import git


@pytest.fixture
def office(bench):
    return Office(bench)


async def test_a_conflict_of_no_file_is_one_too(office):
    for name in ("1", "2"):
        (office.folder / "sub" / name).write_text(f"{name}\n" * 40)
    code = "import os; os.makedirs('x'); os.makedirs('y'); os.rename('sub/1', 'x/1'); os.rename('sub/2', 'y/2')"
    work = await office.recorded(f"{code}; os.remove('sub/b.py')")
    (office.folder / "sub" / "3").write_text("three\n")
    before = office.files()
    done = await office.merge(work)
    assert done.outcome is ToolOutcome.FAILED, done.output
    assert done.reason.startswith("merge conflict: (directory rename split): Unclear where to rename sub to")
    assert office.files() == before


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("os.remove('a.py'); os.mkdir('a.py'); open('a.py/in', 'w').write('x')", {"a.py/in": "x", "sub/b.py": "b\n"}),
        ("shutil.rmtree('sub'); open('sub', 'w').write('x')", {"a.py": "one\n", "sub": "x"}),
        ("shutil.rmtree('sub'); os.symlink('a.py', 'sub')", {"a.py": "one\n", "sub": "-> a.py"}),
        ("os.remove('link'); open('link', 'w').write('x')", {"a.py": "one\n", "link": "x", "sub/b.py": "b\n"}),
        ("os.remove('a.py'); os.symlink('new', 'a.py')", {"a.py": "-> new", "sub/b.py": "b\n"}),
    ],
)
@pytest.mark.parametrize("nth", [0, 1])
async def test_files_folders_and_links_may_take_each_others_place(office, code, found, nth):
    (office.folder / "link").symlink_to("a.py")
    kept = {".gitignore": "ignored\n", "new": "not committed\n", "ignored": "ignored\n", "link": "-> a.py"}
    work = await office.recorded(f"import os, shutil; {code}")
    if nth:  # Made again after a kill between the last file and the end of the merge.
        with (
            open_workspace(office.folder, office.bench.home, "r") as workspace,
            pytest.MonkeyPatch.context() as patched,
        ):
            patched.setattr(merging.Repository, "write_ref", _only_begun)
            with pytest.raises(Killed):
                merging.merge_work(workspace, json.loads(merge_use(NAME, work.base, work.commit).arguments))
    done = await office.merge(work)
    assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
    assert office.files() == kept | found


def _only_begun(self, run, name, commit):
    if name.endswith(".merged"):
        raise Killed
    return WRITE_REF(self, run, name, commit)


WRITE_REF = merging.Repository.write_ref


async def test_a_folder_with_other_files_is_not_replaced(office):
    work = await office.recorded("import shutil; shutil.rmtree('sub'); open('sub', 'w').write('x')")
    (office.folder / "sub" / "ignored").write_text("mine\n")
    before = office.files()
    done = await office.merge(work)
    assert done.reason.startswith("merge conflict: sub changed in the workspace"), done.reason
    assert office.files() == before


async def test_what_a_killed_driver_has_left_of_an_ended_attempt_is_kept_as_a_commit(office):
    office.hire("open('c', 'w').write('an hour of work')")
    start = await office.base()
    taken = await office.bench.call(office.tools, snapshot_use(f"{NAME}.base", start), seconds=60.0)
    base = snapshot_taken(taken.output).id
    await office.work(base)
    with open_workspace(office.folder, office.bench.home, "r") as workspace:
        clear_worktrees(workspace, [NAME])
        assert office.worktree.exists()
        clear_worktrees(workspace, [])
    assert not office.worktree.exists()
    [ref] = git(office.folder, "for-each-ref", "--format=%(refname)", "refs/replan/r/*unfinished*").split()
    assert git(office.folder, "show", f"{ref}:c") == "an hour of work"
    assert git(office.folder, "rev-parse", f"{ref}^").strip() == base


async def test_what_an_agent_left_that_a_person_said_has_failed_is_kept(office):
    office.hire("open('c', 'w').write('an hour of work')")
    base = await office.base()
    await office.work(base)
    (office.folder / "a.py").write_text("changed since\n")
    again = await office.base()
    arguments = canonical({"prompt": "Do it.", "base": again, "name": NAME.replace("a1", "a2")})
    use = ToolUse(tool="t", arguments=arguments, repeatable=False, risky=False, timeout_seconds=60.0)
    assert (await office.bench.call(office.tools, use, seconds=60.0)).outcome is ToolOutcome.SUCCEEDED
    assert not office.worktree.exists()
    [ref] = git(office.folder, "for-each-ref", "--format=%(refname)", "refs/replan/r/*unfinished*").split()
    assert git(office.folder, "show", f"{ref}:c") == "an hour of work"
