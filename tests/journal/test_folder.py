"""The folder and the file of a journal are private, and an unsafe place is refused in one line."""

import errno
import os
import stat

import pytest

from runtime.core.errors import JournalError, JournalUnreadable, StorageFull, UsageProblem
from runtime.journal import folder


@pytest.fixture(params=[0o000, 0o077, 0o277], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_and_file_are_private_whatever_the_umask(tmp_path, umask):
    home = tmp_path / "home"
    folder.prepare_folder(home)
    folder.prepare_file(home / "journal")
    assert (mode_of(home), mode_of(home / "journal")) == (0o700, 0o600)


def test_missing_parents_are_made(tmp_path):
    folder.prepare_folder(tmp_path / "a" / "b" / "c")
    assert mode_of(tmp_path / "a" / "b" / "c") == 0o700


def test_a_safe_folder_is_left_as_it_is(tmp_path):
    tmp_path.chmod(0o755)
    folder.prepare_folder(tmp_path)
    assert mode_of(tmp_path) == 0o755


def test_a_file_that_others_could_read_is_made_private_and_kept(tmp_path):
    path = tmp_path / "journal"
    path.write_text("kept")
    path.chmod(0o644)
    folder.prepare_file(path)
    assert (mode_of(path), path.read_text()) == (0o600, "kept")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    with pytest.raises(UsageProblem, match="other users can write") as caught:
        folder.prepare_folder(tmp_path)
    assert "chmod go-w" in caught.value.hint


def test_a_symbolic_link_to_a_folder_is_refused(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(UsageProblem, match="symbolic link"):
        folder.prepare_folder(tmp_path / "link")


def test_a_dangling_link_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageProblem, match="symbolic link"):
        folder.prepare_folder(tmp_path / "link")
    with pytest.raises(JournalUnreadable, match="symbolic link"):
        folder.prepare_file(tmp_path / "link")
    assert not (tmp_path / "nowhere").exists()


def test_a_file_is_no_folder_and_a_folder_no_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageProblem, match="not a folder"):
        folder.prepare_folder(tmp_path / "file")
    with pytest.raises(UsageProblem):
        folder.prepare_folder(tmp_path / "file" / "below")
    with pytest.raises(JournalUnreadable, match=r"not a file \(move it away"):
        folder.prepare_file(tmp_path)


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(JournalUnreadable, match="not a file"):
        folder.prepare_file(tmp_path / "pipe")


def test_a_file_of_another_user_that_others_may_read_is_refused(tmp_path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    path = tmp_path / "journal"
    path.touch(mode=0o644)
    monkeypatch.setattr(os, "chmod", refuse)
    with pytest.raises(JournalUnreadable, match="cannot be made private: operation not permitted") as caught:
        folder.prepare_file(path, "set HOME_OF_IT to another folder")
    assert caught.value.hint.endswith("or set HOME_OF_IT to another folder")


def test_a_folder_that_cannot_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
    with pytest.raises(UsageProblem, match="may not write in this folder"):
        folder.prepare_folder(tmp_path)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, UsageProblem),
        (errno.EACCES, UsageProblem),
        (errno.ENAMETOOLONG, UsageProblem),
    ],
)
def test_what_the_system_says_becomes_one_line(tmp_path, monkeypatch, number, kind):
    def refuse(*_arguments, **_options):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        patch.setattr(os, "mkdir", refuse)
        for prepare in (folder.prepare_file, folder.prepare_folder):
            with pytest.raises(kind) as caught:
                prepare(tmp_path / "new")
            assert str(tmp_path / "new") in str(caught.value)
            assert len(str(caught.value).splitlines()) == 1


def test_an_error_without_a_number_is_still_typed(tmp_path):
    assert isinstance(folder.explain(OSError("odd"), tmp_path), JournalError)


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "state"
    folder.replace_file(path, b"old")
    assert (path.read_bytes(), mode_of(path)) == (b"old", 0o600)

    def full(_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(folder.os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        folder.replace_file(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["state"]
    assert path.read_bytes() == b"old"
