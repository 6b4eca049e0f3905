"""A real language model on this machine: the server of `make model`, one for each process that runs tests."""

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.long.real.serve_model import NAME

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / "build" / "model" / "bin" / "python"
READY = ROOT / "build" / "model" / ".ready"


@dataclass(frozen=True)
class RealServer:
    base_url: str

    @property
    def environment(self) -> dict[str, str]:
        """What names the server and the model for a run."""
        return {"OPENAI_BASE_URL": self.base_url, "REPLAN_MODEL": NAME}

    def tokens(self, text: str) -> int:
        """Return how many tokens the model's tokenizer makes of a text."""
        return len(self._asked("/tokenize", {"content": text})["tokens"])

    def working(self) -> int:
        """Return how many slots are generating now."""
        return sum(slot["is_processing"] for slot in self._asked("/slots"))

    def _asked(self, path: str, body: object = None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base_url.removesuffix("/v1") + path, data, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=300) as answer:
            return json.load(answer)


@contextmanager
def serving(*options: str) -> Iterator[RealServer]:
    """Start a server on a free port, and end it."""
    command = [str(PYTHON), str(ROOT / "tests" / "long" / "real" / "serve_model.py"), "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield RealServer(process.stdout.readline().strip())
        finally:
            process.terminate()


def need_model() -> None:
    """Skip the test where the model was not fetched; fail it where the environment promises it."""
    if not READY.exists():
        if os.environ.get("REPLAN_REQUIRE_MODEL"):
            pytest.fail("REPLAN_REQUIRE_MODEL is set, and the model is not here: make model")
        pytest.skip("the model is not here: make model")


@pytest.fixture(scope="session")
def real() -> Iterator[RealServer]:
    """Two slots of 4,096 tokens each."""
    need_model()
    with serving() as server:
        yield server
