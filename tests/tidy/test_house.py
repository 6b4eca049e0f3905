"""What conftest.py promises for every test, and that it notices when a promise is broken."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tidy.source import ROOT

LEAKS = """
import os, threading
threading.Thread(target=threading.Event().wait, args=(4,)).start()
os.pipe()
""".strip()


@pytest.mark.parametrize("address", ["192.0.2.1", "169.254.169.254"])
def test_a_connection_to_another_machine_is_refused(address):
    with socket.socket() as client, pytest.raises(RuntimeError, match="tests may not connect"):
        client.connect((address, 443))


def test_a_connection_to_this_machine_is_allowed():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as client:
        client.connect(server.getsockname())


def test_no_test_sees_a_developers_keys_or_home():
    assert not [
        name for name in os.environ if name.startswith(("OPENAI_", "ANTHROPIC_")) or name.lower().endswith("_proxy")
    ]
    assert "REPLAN_MODEL" not in os.environ
    assert Path(os.environ["REPLAN_HOME"]).is_dir()


def _run_house(folder, code, **environ):
    """Run a single test of this code, in a process of its own, under a copy of the project's conftest."""
    (folder / "suite").mkdir()
    (folder / "suite" / "test_it.py").write_text(f"def test_it():\n    {code.replace(chr(10), chr(10) + '    ')}\n")
    shutil.copy(ROOT / "conftest.py", folder)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
        "--rootdir",
        folder,
        folder,
    ]
    return subprocess.run(
        command, cwd=folder, env=os.environ | environ, capture_output=True, text=True, check=False, timeout=120
    )


def test_every_leak_fails_the_session(tmp_path):
    done = _run_house(tmp_path, LEAKS)
    assert done.returncode == 1
    assert "threads still run" in done.stdout
    assert "files still open" in done.stdout


def test_a_tidy_session_passes_and_ends_with_its_seconds_and_the_summary(tmp_path):
    environ = {"OPENAI_API_KEY": "sk-test", "HTTPS_PROXY": "http://proxy.example"}
    done = _run_house(tmp_path, "import os\nassert not {'OPENAI_API_KEY', 'HTTPS_PROXY'} & set(os.environ)", **environ)
    assert done.returncode == 0, done.stdout
    *_, seconds, summary = done.stdout.strip().splitlines()
    assert seconds.endswith(" s  suite (1 tests)")
    assert "1 passed" in summary
