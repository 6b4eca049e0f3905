"""A home, a model server and a collector on this machine, and the real command line in its own process."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from replan.cli.app import app
from tests.support.answers import by_step
from tests.support.artifacts import GOOD, PROBLEM, plan
from tests.support.collector import Collector, collecting
from tests.support.openai_server import OpenAIServer, serve

ROOT = Path(__file__).resolve().parents[4]
SCRIPT: dict[str, Any] = {
    **{step: [GOOD[step]] * 40 for step in GOOD},
    "g_plan": [*(plan(needs_missing_token="licence_granted", plan_id=name) for name in ("a", "b")), *[plan()] * 40],
}
"""A run whose first two plans fail, so that the search goes back to the roots: nine calls."""
KEY = "sk-secret-of-the-test-0123456789"


@dataclass
class Case:
    """A home with its model server and its collector."""

    folder: Path
    server: OpenAIServer
    collector: Collector
    more: dict[str, str] = field(default_factory=dict)
    """Variables that take the place of the usual ones."""

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "REPLAN_HOME": str(self.folder / "home"),
            "OPENAI_BASE_URL": self.server.base_url,
            "OPENAI_API_KEY": KEY,
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.url,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            **self.more,
        }

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command line in its own process."""
        command = [sys.executable, "-m", "replan", *arguments]
        pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "text": True}
        environment = {**self.environment, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=self.folder, env=environment, **pipes)

    def replan(self, *arguments: str) -> tuple[int, Any, str]:
        """Run a command line; return its exit code, its output (decoded, where it is JSON) and what is on stderr."""
        absent = {name: None for name in os.environ if name not in self.environment}
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            result = CliRunner().invoke(app, [*arguments], env={**absent, **self.environment})
        out = result.stdout
        return result.exit_code, json.loads(out) if out.startswith("{") else out, result.stderr

    @property
    def run_command(self) -> tuple[str, ...]:
        problem = self.folder / "problem.md"
        problem.write_text(PROBLEM)
        return "run", str(problem), "-m", "test-model", "--json"


@pytest.fixture
def case(tmp_path):
    with serve(by_step(SCRIPT)) as server, collecting() as collector:
        yield Case(tmp_path, server, collector)
