"""The loopback server as a separate process, which outlives the program that a crash test kills.

::

    with server_process(tmp_path, {"g_analysis": [{"problem_type": "bug_fix"}]}) as server:
        ...                                          # run, kill and resume programs against server.base_url
    assert server.finished() == ["run-1/g_analysis/v1.a1"]
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class ServerProcess:
    """A server in another process. The log may be read while it runs and afterwards."""

    base_url: str
    log: Path

    def events(self) -> list[dict[str, Any]]:
        text = self.log.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def requested(self) -> list[str]:
        """Return the ids of all requests, in order of arrival."""
        return [event["id"] for event in self.events() if event["event"] == "request"]

    def finished(self) -> list[str]:
        return [event["id"] for event in self.events() if event.get("outcome") == "finished"]


@contextmanager
def server_process(folder: Path, script: Mapping[str, Any]) -> Iterator[ServerProcess]:
    port_file, log = folder / "server-port", folder / "server-log.jsonl"
    script_file = folder / "server-script.json"
    files = ["--script", str(script_file), "--port-file", str(port_file), "--log", str(log)]
    script_file.write_text(json.dumps(script), encoding="utf-8")
    with subprocess.Popen([sys.executable, "-m", "tests.support.openai_server", *files], cwd=ROOT) as process:
        try:
            until = time.monotonic() + START_SECONDS_MAX
            while not port_file.exists():
                assert process.poll() is None, "the server ended before it listened"
                assert time.monotonic() < until, "the server does not start"
                time.sleep(0.01)
            yield ServerProcess(f"http://127.0.0.1:{port_file.read_text(encoding='utf-8')}/v1", log)
        finally:
            process.terminate()
            process.wait()
            port_file.unlink(missing_ok=True)


def wait_until(condition: Callable[[], object], missing: str, seconds: float = START_SECONDS_MAX) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, missing
        time.sleep(0.02)
