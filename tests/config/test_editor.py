"""An editor's language server accepts the shipped YAML files, and marks what is wrong in one.

`make linters` installs it where there is npm.
"""

import json
import os
import shutil
import subprocess

import pytest

from replan.cli.commands.setup import find_programs, shipped_text, tools_text
from tests.config.test_schemas import ROOT, SHIPPED
from tests.packaging.test_linters import FOLDER, PATH

SERVER = shutil.which("yaml-language-server", path=f"{FOLDER / 'node_modules' / '.bin'}{os.pathsep}{PATH}")
WRONG = (
    "# yaml-language-server: $schema={}\nname: m\naction_pairs:\n  g_plan: {{generator: model, gaurd: plan_medium}}\n"
)


def write(stream, method, params, **more):
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def read(stream):
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b": ")
        length = int(value) if name.lower() == b"content-length" else length
    return json.loads(stream.read(length))


def marks(texts):
    """Return what the server says about each text: the lines, counted from 1, with the messages."""
    said = {}
    with subprocess.Popen([SERVER, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        try:
            write(server.stdin, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}, id=1)
            while read(server.stdout).get("id") != 1:
                pass
            write(server.stdin, "initialized", {})
            for uri, text in texts.items():
                opened = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
                write(server.stdin, "textDocument/didOpen", {"textDocument": opened})
            while said.keys() != texts.keys():
                message = read(server.stdout)
                if message.get("method") == "textDocument/publishDiagnostics":
                    found = message["params"]
                    said[found["uri"]] = [
                        (each["range"]["start"]["line"] + 1, each["message"]) for each in found["diagnostics"]
                    ]
        finally:
            server.kill()
    return said


def test_an_editor_accepts_the_shipped_files_and_marks_a_wrong_one(tmp_path):
    if SERVER is None:
        assert not os.environ.get("REPLAN_REQUIRE_EDITOR"), "REPLAN_REQUIRE_EDITOR is set: make linters, with npm"
        pytest.skip("there is no yaml-language-server: `make linters` installs it where there is npm")
    texts = {path.as_uri(): path.read_text(encoding="utf-8") for _, path in SHIPPED}
    texts |= {(tmp_path / "config.yaml").as_uri(): shipped_text("config.yaml")}
    texts |= {(tmp_path / "tools.yaml").as_uri(): tools_text(find_programs(ROOT))}
    wrong = (tmp_path / "wrong.yaml").as_uri()
    said = marks({**texts, wrong: WRONG.format(ROOT / "configs" / "schemas" / "workflow.schema.json")})
    assert any(line == 4 and "gaurd" in message for line, message in said.pop(wrong))
    assert {uri: found for uri, found in said.items() if found} == {}
