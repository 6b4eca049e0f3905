"""A journal that is removed, renamed or replaced while it is open: no write claims success any more."""

import shutil

import pytest

from runtime.core.errors import JournalMoved


def rename(path):
    path.rename(path.with_name("elsewhere"))


def remove(path):
    path.unlink()


def replace(path):
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)
    copy.rename(path)


def remove_the_folder(path):
    shutil.rmtree(path.parent)


@pytest.mark.parametrize("move", [rename, remove, replace, remove_the_folder])
async def test_writing_to_a_journal_that_was_moved_fails_and_names_its_path(open_journal, path, move):
    async with open_journal() as journal:
        await journal.create("a", "")
        move(path)
        for _ in range(2):
            with pytest.raises(JournalMoved) as caught:
                await journal.post("a", "key", "body")
            assert str(caught.value).startswith(f"{path}: the journal was removed, renamed or replaced")


async def test_a_journal_that_was_moved_and_put_back_goes_on(open_journal, path):
    async with open_journal() as journal:
        await journal.create("a", "")
        path.rename(path.with_name("elsewhere"))
        with pytest.raises(JournalMoved):
            await journal.create("b", "")
        path.with_name("elsewhere").rename(path)
        assert (await journal.post("a", "key", "body")).result == "accepted"
