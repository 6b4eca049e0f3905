"""The built-in tools that read and write files of the workspace: nothing outside it, nothing half written."""

import os
import stat

import pytest

from actors.run.tools import ToolOutcome
from actors.tools import confined
from actors.tools.snapshot_texts import file_in, output_of, read_file_output
from actors.tools.uses import NO_TOOLS, ModelUse
from actors.tools.workspace import open_workspace

USE = ModelUse(
    name="author",
    file="src/login.py",
    instructions="Repair it.",
    context_files=("tests/test_login.py", "notes"),
    missing="empty",
    file_bytes_max=100,
    risky=True,
)


def use_of(**change):
    return USE.model_copy(update=change)


async def test_a_file_and_its_context_are_read_and_a_missing_one_is_empty(bench):
    (bench.workspace / "tests").mkdir()
    (bench.workspace / "tests" / "test_login.py").write_text("é\n")
    done = await bench.call(NO_TOOLS, USE.reading())
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert read_file_output(done.output) == {"src/login.py": None, "tests/test_login.py": "é\n", "notes": None}


async def test_a_missing_context_file_is_a_failure_where_the_use_says_so_but_the_file_itself_is_not(bench):
    strict = use_of(missing="failure")
    done = await bench.call(NO_TOOLS, strict.reading())
    assert (done.outcome, done.reason) == (ToolOutcome.FAILED, "there is no 'tests/test_login.py' in the workspace")
    done = await bench.call(NO_TOOLS, strict.model_copy(update={"context_files": ()}).reading())
    assert read_file_output(done.output) == {"src/login.py": None}


async def test_all_files_together_have_a_limit(bench):
    (bench.workspace / "a").write_text("x" * 60)
    (bench.workspace / "b").write_text("x" * 41)
    done = await bench.call(NO_TOOLS, use_of(file="a", context_files=("b",)).reading())
    assert (done.outcome, done.reason) == (
        ToolOutcome.PERMANENT,
        "the files up to 'b' together have more than 100 bytes (file_bytes)",
    )


async def test_what_is_no_text_is_a_failure(bench):
    (bench.workspace / "notes").write_bytes(b"\xff\xfe")
    done = await bench.call(NO_TOOLS, USE.reading())
    assert (done.outcome, done.reason) == (ToolOutcome.FAILED, "'notes' is not UTF-8 text")


def link_to_secret(folder, path):
    (folder / "src").mkdir()
    path.symlink_to("/etc/passwd")


def folder_that_is_a_link(folder, path):
    (folder.parent / "outside").mkdir()
    (folder.parent / "outside" / "login.py").write_text("secret")
    (folder / "src").symlink_to(folder.parent / "outside")


def pipe(folder, path):
    (folder / "src").mkdir()
    os.mkfifo(path)


def folder_in_its_place(folder, path):
    path.mkdir(parents=True)


def file_above(folder, path):
    (folder / "src").write_text("")


@pytest.mark.parametrize("hostile", [link_to_secret, folder_that_is_a_link, pipe, folder_in_its_place, file_above])
async def test_nothing_outside_the_workspace_and_no_special_file_is_read_or_written(bench, hostile):
    hostile(bench.workspace, bench.workspace / "src" / "login.py")
    for use in (USE.reading(), USE.writing("new")):
        done = await bench.call(NO_TOOLS, use, seconds=5.0)
        assert done.outcome is ToolOutcome.PERMANENT
        assert done.reason.startswith("'src/login.py' ")
    outside = bench.folder / "outside" / "login.py"
    assert not outside.exists() or outside.read_text() == "secret"


async def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(bench):
    path = bench.workspace / "src" / "login.py"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o755)
    (bench.workspace / "hard").hardlink_to(path)
    done = await bench.call(NO_TOOLS, USE.writing("é\n"))
    assert (done.outcome, done.output) == (ToolOutcome.SUCCEEDED, '{"file": "src/login.py", "bytes": 3}')
    assert path.read_text() == "é\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert (bench.workspace / "hard").read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


async def test_a_new_file_gets_the_folders_above_it_and_the_usual_mode(bench):
    await bench.call(NO_TOOLS, use_of(file="a/b/c.py").writing("x"))
    path = bench.workspace / "a" / "b" / "c.py"
    assert path.read_text() == "x"
    other = bench.workspace / "other"
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode


async def test_a_text_over_the_limit_or_that_no_file_can_hold_is_not_written(bench):
    done = await bench.call(NO_TOOLS, USE.writing("x" * 101))
    assert (done.outcome, done.reason) == (
        ToolOutcome.FAILED,
        "the text has 101 bytes, over the limit of 100 (file_bytes)",
    )
    done = await bench.call(NO_TOOLS, USE.writing("\ud800"))
    assert (done.outcome, done.reason) == (ToolOutcome.FAILED, "the text has characters that UTF-8 cannot encode")
    assert list(bench.workspace.iterdir()) == []


async def test_a_full_disk_leaves_the_old_file_and_may_pass(bench, monkeypatch):
    path = bench.workspace / "src" / "login.py"
    path.parent.mkdir()
    path.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    with open_workspace(bench.workspace, bench.home, "r") as workspace:
        monkeypatch.setattr(confined.os, "fsync", full)
        done = await bench.call_in(workspace, NO_TOOLS, USE.writing("new"))
    assert (done.outcome, done.reason) == (
        ToolOutcome.TRANSIENT,
        "'src/login.py' cannot be written: no space left on device",
    )
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


async def test_what_a_killed_process_left_does_not_hold_up_the_next_write(bench):
    await bench.call(NO_TOOLS, use_of(file="x").writing("first"))
    names = []
    real = os.replace
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            confined.os, "replace", lambda name, *rest, **more: names.append(name) or real(name, *rest, **more)
        )
        await bench.call(NO_TOOLS, use_of(file="x").writing("second"))
    (bench.workspace / names[0]).write_text("half")
    await bench.call(NO_TOOLS, use_of(file="x").writing("third"))
    assert list(bench.workspace.iterdir()) == [bench.workspace / "x"]
    assert (bench.workspace / "x").read_text() == "third"


def test_what_was_read_reads_back_in_its_order():
    files = {"b": "x\n", "a": None}
    assert list(read_file_output(output_of(files)).items()) == list(files.items())


@pytest.mark.parametrize("output", ["", "[]", "{}", '{"files": 3}', '{"files": {"a": 1}}'])
def test_any_other_text_is_refused(output):
    with pytest.raises(ValueError, match=r".+"):
        read_file_output(output)


@pytest.mark.parametrize(
    ("reply", "file"),
    [
        ("x = 1", "x = 1\n"),
        ("x = 1\n\n\n", "x = 1\n"),
        ("  indented\n", "  indented\n"),
        ("```python\nx = 1\n```", "x = 1\n"),
        ("\n~~~\n  x\n~~~\n", "  x\n"),
        ("````md\n```\nx\n```\n````", "```\nx\n```\n"),
        ("```\na\n```\nand\n```\nb\n```", "```\na\n```\nand\n```\nb\n```\n"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_a_reply_that_is_one_code_block_stands_for_its_content(reply, file):
    assert file_in(reply) == file
