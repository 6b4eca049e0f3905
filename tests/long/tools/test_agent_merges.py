"""Merges of the work of coding agents into the workspace: what changes, conflicts, and merges after a crash."""

import json
import os

import pytest

from actors.run.tools import ToolOutcome
from actors.tools import built_in
from actors.tools.agent_work import merge_use
from actors.tools.workspace import open_workspace
from runtime.core.hooks import set_crash_hook
from tests.long.tools.test_snapshots import git, state_of
from tests.tools.agent_case import EDIT, NAME, Killed


async def test_the_work_of_an_agent_is_merged_and_nothing_else_of_the_workspace_is_touched(case):
    work = await case.recorded(EDIT)
    before = state_of(case.folder)
    assert work.files == ("a.py", "c.sh", "sub/b.py")
    assert "-one\n+two\n" in work.diff
    assert case.files()["a.py"] == "one\n", "nothing is merged before it is checked"
    assert not case.worktree.exists()
    done = await case.merge(work)
    assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
    assert case.files() == {
        ".gitignore": "ignored\n",
        "a.py": "two\n",
        "c.sh": "c\n",
        "new": "not committed\n",
        "ignored": "ignored\n",
    }
    assert os.access(case.folder / "c.sh", os.X_OK)
    assert not (case.folder / "sub").exists()
    assert state_of(case.folder)[:4] == before[:4]
    assert git(case.folder, "fsck", "--strict") == ""


async def test_a_link_inside_of_the_worktree_is_merged(case):
    work = await case.recorded("import os; os.symlink('../a.py', 'sub/l'); os.remove('new'); os.symlink('a.py', 'new')")
    assert (await case.merge(work)).outcome is ToolOutcome.SUCCEEDED
    assert {key: case.files()[key] for key in ("sub/l", "new")} == {"sub/l": "-> ../a.py", "new": "-> a.py"}


async def test_changes_in_other_places_are_merged_with_those_of_the_workspace(case):
    (case.folder / "a.py").write_text("".join(f"{n}\n" for n in range(20)))
    work = await case.recorded("t = open('a.py').read(); open('a.py', 'w').write('first\\n' + t)")
    with (case.folder / "a.py").open("a") as file:
        file.write("last\n")
    assert (await case.merge(work)).outcome is ToolOutcome.SUCCEEDED
    assert case.files()["a.py"] == "first\n" + "".join(f"{n}\n" for n in range(20)) + "last\n"


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
async def test_a_conflict_is_one_clear_line_and_no_file_is_changed(case, code, change):
    work = await case.recorded(f"{code}; open('other', 'w').write('x')")
    change(case.folder)
    before = case.files()
    done = await case.merge(work)
    assert done.outcome is ToolOutcome.FAILED, done.output
    assert done.reason.startswith("merge conflict: ")
    assert "\n" not in done.reason
    assert case.files() == before


async def test_a_conflict_of_no_file_is_one_too(case):
    for name in ("1", "2"):
        (case.folder / "sub" / name).write_text(f"{name}\n" * 40)
    code = "import os; os.makedirs('x'); os.makedirs('y'); os.rename('sub/1', 'x/1'); os.rename('sub/2', 'y/2')"
    work = await case.recorded(f"{code}; os.remove('sub/b.py')")
    (case.folder / "sub" / "3").write_text("three\n")
    before = case.files()
    done = await case.merge(work)
    assert done.outcome is ToolOutcome.FAILED, done.output
    assert done.reason.startswith("merge conflict: (directory rename split): Unclear where to rename sub to")
    assert case.files() == before


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
async def test_files_folders_and_links_may_take_each_others_place(case, code, found, nth):
    (case.folder / "link").symlink_to("a.py")
    kept = {".gitignore": "ignored\n", "new": "not committed\n", "ignored": "ignored\n", "link": "-> a.py"}
    work = await case.recorded(f"import os, shutil; {code}")
    if nth:  # Made again after a kill between the last file and the end of the merge.
        with (
            open_workspace(case.folder, case.bench.home, "r") as workspace,
            pytest.MonkeyPatch.context() as patched,
        ):
            patched.setattr(built_in.Repository, "write_ref", _only_begun)
            with pytest.raises(Killed):
                built_in.merge_work(workspace, json.loads(merge_use(NAME, work.base, work.commit).arguments))
    done = await case.merge(work)
    assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
    assert case.files() == kept | found


def _only_begun(self, run, name, commit):
    if name.endswith(".merged"):
        raise Killed
    return WRITE_REF(self, run, name, commit)


WRITE_REF = built_in.Repository.write_ref


async def test_a_folder_with_other_files_is_not_replaced(case):
    work = await case.recorded("import shutil; shutil.rmtree('sub'); open('sub', 'w').write('x')")
    (case.folder / "sub" / "ignored").write_text("mine\n")
    before = case.files()
    done = await case.merge(work)
    assert done.reason.startswith("merge conflict: sub changed in the workspace"), done.reason
    assert case.files() == before


@pytest.mark.parametrize(("label", "nth"), [("merge.begun", 1), ("merge.written", 1), ("merge.written", 2)])
async def test_a_merge_that_was_cut_short_is_finished_under_its_name(case, label, nth):
    work = await case.recorded(EDIT)
    seen = []

    def kill(name):
        seen.append(name)
        if seen.count(label) == nth:
            raise Killed

    with open_workspace(case.folder, case.bench.home, "r") as workspace:
        set_crash_hook(kill)
        try:
            with pytest.raises(Killed):
                built_in.merge_work(workspace, json.loads(merge_use(NAME, work.base, work.commit).arguments))
        finally:
            set_crash_hook(None)
    (case.folder / "other").write_text("written meanwhile\n")
    assert (await case.merge(work)).outcome is ToolOutcome.SUCCEEDED
    assert {key: case.files().get(key) for key in ("a.py", "c.sh", "sub/b.py", "other")} == {
        "a.py": "two\n",
        "c.sh": "c\n",
        "sub/b.py": None,
        "other": "written meanwhile\n",
    }


async def test_a_merge_that_was_made_is_not_made_again(case):
    work = await case.recorded(EDIT)
    first = await case.merge(work)
    (case.folder / "a.py").write_text("changed after the merge\n")
    again = await case.merge(work)
    assert (again.outcome, again.output) == (ToolOutcome.SUCCEEDED, first.output)
    assert case.files()["a.py"] == "changed after the merge\n"
