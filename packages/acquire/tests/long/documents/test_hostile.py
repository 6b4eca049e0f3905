"""Documents that attack their reader: none hangs it, none reads or reaches anything, and each is named in one line."""

import os
import socket
import subprocess
import sys
import time

import pytest

from packages.acquire.tests.documents.hostile_documents import MAKERS, hostile_documents
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_acquire.acquiring import prepare_to_acquire
from replan_acquire.acquisition.prepare import AcquisitionInput
from replan_acquire.documents import extract_process
from replan_acquire.documents.extract_process import WALL_SECONDS_MAX, extract_file
from replan_acquire.documents.index import FileStamp, read_file
from tests.tidy.source import ROOT

COUNT = int(os.environ.get("REPLAN_HOSTILE_DOCUMENTS", str(len(MAKERS))))
"""By default each kind comes once."""
SEED = 1
SECRET = "CANARY-7f3a"
NOTICE_MAX = 900


@pytest.fixture
def listener():
    """A server that nobody may reach."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.mark.parametrize("maker", MAKERS[:COUNT])
def test_no_hostile_document_hangs_or_escapes_and_each_is_named_in_one_line(tmp_path, listener, maker):
    canary = tmp_path / "secret.pickle.gz"
    canary.write_text(SECRET)
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, content in hostile_documents(maker, SEED, COUNT, canary, listener.getsockname()[1]):
        (folder / name).write_bytes(content)
        began = time.monotonic()
        found = read_file(folder, FileStamp(name, len(content), 1))
        assert time.monotonic() - began < WALL_SECONDS_MAX + 10, name
        assert found.documents or found.notices, name
        for notice in found.notices:
            assert notice.startswith(name), notice
            assert len(notice) < NOTICE_MAX, notice
            assert notice.isprintable(), notice
            assert "ModuleNotFoundError" not in notice, notice
            assert "without a result" not in notice, notice
        for each in found.documents:
            assert each.name.startswith(name)
            assert all(SECRET not in line for _, line in each.lines), name
        (folder / name).unlink()
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["docs", "secret.pickle.gz"]


ESCAPES = {
    "open": "open('/etc/hostname')",
    "write": "open('/tmp/escaped', 'w')",
    "list": "os.listdir('/')",
    "pair of sockets": "socket.socketpair()",
    "socket": "socket.socket()",
    "fork": "os.fork()",
    "execute": "os.execv('/bin/true', ['true'])",
    "spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "kill": "os.kill(os.getppid(), 0)",
    "pipe": "os.pipe()",
    "rename": "os.rename('/tmp/a', '/tmp/b')",
    "more files": "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))",
    "trace": "ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0) < 0 and ctypes_error()",
}


EVERYWHERE = ("open", "write", "list", "socket", "pair of sockets", "pipe")
"""What the limits refuse without Linux's filter of system calls."""


@pytest.mark.parametrize("name", ESCAPES if sys.platform == "linux" else EVERYWHERE)
def test_a_confined_process_can_open_reach_and_start_nothing(name):
    program = (
        "import ctypes, os, resource, socket, sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from replan_acquire.documents.extract_main import confine\n"
        "def ctypes_error(): raise OSError('refused')\n"
        "confine(seconds=5, memory_bytes=2**30)\n"
        f"try: {ESCAPES[name]}\n"
        "except (OSError, ValueError) as error: os.write(1, b'refused')\n"
        "else: os.write(1, b'escaped')\n"
        "os._exit(0)\n"
    )
    ran = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, check=False)
    assert ran.stdout == b"refused", ran.stderr


@pytest.mark.parametrize(("body", "said"), [("while True: pass", "processor time"), ("b'x' * 2**40", "memory")])
def test_a_reader_that_takes_too_much_is_ended_and_named(tmp_path, monkeypatch, body, said):
    """The reader itself is replaced: what it would do after a take-over is bounded in the same way."""
    program = tmp_path / "reader.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from replan_acquire.documents.extract_main import confine\n"
        f"confine(seconds=1, memory_bytes=2**30)\n{body}\n"
    )
    monkeypatch.setattr(extract_process, "_PROGRAM", program)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    [notice] = extract_file(tmp_path / "a.pdf", "a.pdf", 0, 0).notices
    assert notice.startswith("a.pdf: left out: ")
    assert said in notice


@pytest.mark.parametrize(
    "written",
    [
        "",
        "no JSON",
        "[]",
        '{"parts": [{"name": 5}]}',
        '{"parts": [], "more": 1}',
        '{"parts": [{"name": "", "blocks": [{}]}]}',
    ],
)
def test_what_a_reader_writes_is_checked(tmp_path, monkeypatch, written):
    program = tmp_path / "reader.py"
    program.write_text(f"import os; os.write(1, {written.encode()!r})")
    monkeypatch.setattr(extract_process, "_PROGRAM", program)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    found = extract_file(tmp_path / "a.pdf", "a.pdf", 0, 0)
    assert found.documents == ()
    assert found.notices == ("a.pdf: left out, because the reader ended without a result",)


def test_a_reader_that_writes_without_end_is_ended(tmp_path, monkeypatch):
    program = tmp_path / "reader.py"
    program.write_text("import os\nwhile True: os.write(1, b'x' * 65536)")
    monkeypatch.setattr(extract_process, "_PROGRAM", program)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.7")
    assert extract_file(tmp_path / "a.pdf", "a.pdf", 0, 0).documents == ()


def test_a_server_leaves_the_reading_of_documents_to_the_first_search(tmp_path, monkeypatch):
    """Its event loop serves others; a search reads in a thread."""

    def never(*_):
        raise AssertionError("a document was read")

    monkeypatch.setattr("replan_acquire.documents.index.read_file", never)
    (tmp_path / "slow.pdf").write_bytes(b"%PDF-1.7")
    wish = AcquisitionInput("market_size", "x")
    options = {"registry": registry(), "environment": {"REPLAN_HOME": str(tmp_path / "home")}, "config": UserConfig()}
    prepared = prepare_to_acquire(wish, str(tmp_path), "quoting:", **options, reads=False)
    assert prepared.request.pinned.search == {"folder": str(tmp_path)}
    assert prepared.remarks == ()
    with pytest.raises(AssertionError, match="a document was read"):
        prepare_to_acquire(wish, str(tmp_path), "quoting:", **options)
