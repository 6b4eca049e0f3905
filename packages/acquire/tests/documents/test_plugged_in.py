"""Readers of installed distributions: a suffix, and a module that reads such files in the confined process."""

import pytest

from replan_acquire.documents.extract_process import READER_PLUGINS
from replan_acquire.documents.index import list_folder, read_file
from tests.support.distributions import install

MODULE = """
def prepare():
    pass

def read(content):
    text = content.decode()
    if text == "open":
        with open("/etc/hostname") as file:
            return file.read()
    if text == "odd":
        return {"blocks": [{"kind": "song"}]}
    lines = text.splitlines()
    blocks = [{"kind": "text", "place": f"note {number}", "text": line} for number, line in enumerate(lines, 1)]
    return {"title": "Notes", "blocks": blocks, "notices": ["its drawings are left out"]}
"""
BROKEN = "def prepare():\n    raise ImportError('no such library')\n\ndef read(content):\n    return {}\n"
READERS = {
    "note": "note_reader",
    "bad": "bad_reader",
    "lost": "nowhere",
    "half": "note_reader:read",
    "pdf": "note_reader",
}


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Install a distribution with a reader of notes, and with readers that cannot be used."""
    modules = {"note_reader": MODULE, "bad_reader": BROKEN}
    install(monkeypatch, tmp_path / "site", "note-books", {"replan.readers": READERS}, **modules)


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a folder with one file; it returns its documents and all notices."""

    def call(name, text):
        folder = tmp_path / "folder"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(text)
        listing = list_folder(folder)
        found = [read_file(folder, stamp) for stamp in listing.files if stamp.name == name]
        notices = [*listing.notices, *(notice for item in found for notice in item.notices)]
        return [document for item in found for document in item.documents], notices

    return call


def test_a_file_with_the_suffix_of_a_plug_in_is_read_with_places(site, read):
    [document], notices = read("fleet.NOTE", "The fleet has 42 vans.\nNot more.")
    assert document.title == "Notes"
    assert [text for _, text in document.lines if text] == ["The fleet has 42 vans.", "Not more."]
    assert document.places[0] == ((0, "note 1"),)
    assert notices == ["fleet.NOTE: its drawings are left out"]


@pytest.mark.parametrize(
    ("name", "text", "cause"),
    [
        ("a.note", "open", "the file is damaged, or it has another format ("),
        ("c.note", "odd", "the reader ended without a result"),
        (
            "d.bad",
            "x",
            "the reader replan.readers bad (from note-books) cannot be loaded: ImportError: no such library",
        ),
        ("e.lost", "x", "the reader replan.readers lost (from note-books) cannot be loaded: ModuleNotFoundError"),
        ("f.half", "x", "the reader replan.readers half (from note-books) cannot be loaded: AttributeError"),
        ("g.unknown", "x", "left out, because only text"),
    ],
)
def test_the_reader_is_confined_and_one_that_fails_leaves_its_file_out(site, read, name, text, cause):
    documents, notices = read(name, text)
    assert documents == []
    [notice] = notices
    assert cause in notice
    assert notice.startswith(f"{name}: left out")


def test_a_suffix_is_neither_taken_twice_nor_from_a_built_in_reader(site, read, tmp_path, monkeypatch):
    install(
        monkeypatch, tmp_path / "other", "note-pads", {"replan.readers": {"note": "note_reader", "md": "note_reader"}}
    )
    _, [notice] = read("a.note", "text")
    assert "replan.readers note (from note-books and note-pads): several packages have a plug-in of this name" in notice
    (tmp_path / "folder" / "a.note").unlink()
    [document], notices = read("a.md", "# Fleet")
    assert (document.title, notices) == ("Fleet", [])
    problems = READER_PLUGINS.problems()
    for name, source in (("pdf", "note-books"), ("md", "note-pads")):
        assert any(f"{name} (from {source}): a plug-in cannot have a built-in name" in problem for problem in problems)
    assert any(
        "half (from note-books): is the function read(content), and should be a module" in problem
        for problem in problems
    )
