"""Phoenix and MLflow on this machine, from the packages of `make viewers`."""

import json
import os
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from packages.server.tests.telemetry.conftest import case
from tests.support.receiver import free_port

__all__ = ["case"]

VIEWERS = Path(__file__).resolve().parents[5] / "build" / "viewers"
START_SECONDS = 500.0


def ask(url, body=None):
    """Return the JSON with which a viewer answers."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(
        urllib.request.Request(url, data, {"Content-Type": "application/json"}), timeout=60
    ) as answer:
        return json.load(answer)


@contextmanager
def viewing(folder, module, *words, path, **variables):
    """Start a viewer in a folder, and yield its address. It is ready when it answers with JSON at `path`."""
    if not (VIEWERS / ".ready").exists():
        if os.environ.get("REPLAN_REQUIRE_VIEWERS"):
            pytest.fail("REPLAN_REQUIRE_VIEWERS is set, and Phoenix and MLflow are not here: make viewers")
        pytest.skip("Phoenix and MLflow are not here: make viewers")
    url = f"http://127.0.0.1:{(port := free_port())}"
    words = [word.replace("PORT", str(port)) for word in words]
    variables = {name: value.replace("PORT", str(port)) for name, value in variables.items()}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "DO_NOT_TRACK": "true", **variables}
    command = [str(VIEWERS / "bin" / "python"), "-m", module, *words]
    log = folder / "viewer.log"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out) as process,
    ):
        try:
            last = time.monotonic() + START_SECONDS
            while True:
                try:
                    ask(url + path)
                    break
                except (OSError, ValueError):
                    assert process.poll() is None, log.read_text()[-2000:]
                    assert time.monotonic() < last, log.read_text()[-2000:]
                    time.sleep(0.2)
            yield url
        finally:
            process.kill()


def phoenix(folder):
    """Start Phoenix. Its account of traces by project is at `/v1/projects`."""
    return viewing(
        folder, "phoenix.server.main", "serve", path="/v1/projects", PHOENIX_WORKING_DIR=str(folder),
        PHOENIX_HOST="127.0.0.1", PHOENIX_PORT="PORT", PHOENIX_GRPC_PORT=str(free_port()),
        PHOENIX_TELEMETRY_ENABLED="false",
    )  # fmt: skip


def mlflow(folder):
    """Start the server of MLflow alone, without the processes for jobs that `mlflow server` also starts."""
    return viewing(
        folder, "uvicorn", "--host", "127.0.0.1", "--port", "PORT", "mlflow.server.fastapi_app:app",
        path="/api/2.0/mlflow/experiments/get?experiment_id=0", MLFLOW_DISABLE_TELEMETRY="true",
        _MLFLOW_SERVER_FILE_STORE=f"sqlite:///{folder}/mlflow.db", _MLFLOW_SERVER_ARTIFACT_ROOT=f"{folder}/artifacts",
    )  # fmt: skip
