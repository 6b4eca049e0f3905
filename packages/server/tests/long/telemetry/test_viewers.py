"""Phoenix and MLflow take the traces of a run, and show it as a tree with what its spans are."""

import json
import os
import subprocess
import time
import urllib.request
from base64 import b64decode
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

import pytest

from packages.server.tests.telemetry.conftest import KEY
from packages.server.tests.telemetry.test_export import TREE
from runtime.core.names import trace_id
from tests.support.artifacts import PROBLEM
from tests.support.receiver import free_port

VIEWERS = Path(__file__).resolve().parents[5] / "build" / "viewers"
START_SECONDS = 500.0
ROOT, CHAT, PLAN = "invoke_agent planning", "chat test-model", "plan planning"


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


def spans_in_phoenix(url, trace):
    """Return the id, parent, name, record, kind and attributes of each span that Phoenix has."""
    for span in ask(f"{url}/v1/projects/default/spans?limit=1000&trace_id={trace}")["data"]:
        about = span["attributes"]
        kind = span["span_kind"], about.get("gen_ai.operation.name", "")
        yield span["context"]["span_id"], span["parent_id"] or "", span["name"], about["replan.seq"], kind, about


def spans_in_mlflow(url, trace):
    """Return the same of each span that MLflow has."""
    for span in ask(f"{url}/api/3.0/mlflow/traces/get?trace_id=tr-{trace}")["trace"]["spans"]:
        about = {each["key"]: next(iter(each["value"].values()), None) for each in span["attributes"]}
        kind = about.get("mlflow.spanType", "UNKNOWN"), about.get("gen_ai.operation.name", "")
        ids = [b64decode(span.get(name, "")).hex() for name in ("span_id", "parent_span_id")]
        yield *ids, span["name"], int(about["replan.seq"]), kind, about


def shape(spans):
    """Return the names of spans as nested lists, in the order of their records."""
    children = defaultdict(list)
    for known, parent, name, seq, *_ in spans:
        children[parent].append((seq, name, known))

    def lines(parent):
        return [[name, *lines(known)] for _, name, known in sorted(children[parent])]

    return lines("")


def names_in(tree):
    """Yield the names of a tree of spans."""
    for name, *below in tree:
        yield name
        yield from names_in(below)


@pytest.mark.parametrize(
    ("start", "read", "kinds"),
    [
        (phoenix, spans_in_phoenix, {ROOT: "AGENT", CHAT: "LLM", PLAN: "UNKNOWN"}),
        (mlflow, spans_in_mlflow, {ROOT: "AGENT", CHAT: "CHAT_MODEL", PLAN: "UNKNOWN"}),
    ],
    ids=["Phoenix", "MLflow"],
)
def test_a_viewer_shows_a_run_as_a_tree(case, start, read, kinds):
    """The run is sent while it goes on and once more after it: the viewer shows each span once, with its messages."""
    (folder := case.folder / "viewer").mkdir()
    with start(folder) as url:
        case.more = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": url,
            "OTEL_EXPORTER_OTLP_HEADERS": "x-mlflow-experiment-id=0",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "60",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true",
        }
        code, result, _ = case.replan(*case.run_command)
        assert code == 0
        code, _, err = case.replan("telemetry", result["run_id"])
        number = sum(1 for _ in names_in(TREE))
        assert (code, err) == (0, f"replan: {number} spans sent\n")
        trace = f"{trace_id(result['run_id']):032x}"
        while len(spans := list(read(url, trace))) < number:
            time.sleep(0.1)  # Phoenix stores them a moment after its answer.
        assert shape(spans) == TREE
        found = {name: (kind, operation) for _, _, name, _, (kind, operation), _ in spans}
        assert {name: kind for name, (kind, _) in found.items() if name in kinds} == kinds
        assert [found[name][1] for name in (ROOT, CHAT, PLAN)] == ["invoke_agent", "chat", "plan"]
        asked = [str(about["gen_ai.input.messages"]) for _, _, name, *_, about in spans if name == CHAT]
        assert any(PROBLEM.split("\n")[0].strip("# ") in text for text in asked)
        assert KEY not in json.dumps(spans)
