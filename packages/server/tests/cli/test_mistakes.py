"""What users of the servers do wrong, in `data/mistakes.txt`, as in `tests/cli/test_mistakes.py`."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from replan.cli.app import app
from tests.cli.samples import PROBLEM
from tests.cli.test_mistakes import cases_in, made

CASES = cases_in((Path(__file__).parent / "data" / "mistakes.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("command", "code", "line"), CASES, ids=[case[0] for case in CASES])
def test_a_mistake_is_one_line_with_cause_place_and_next_step(tmp_path, command, code, line, monkeypatch):
    (tmp_path / "problem.md").write_text(PROBLEM, encoding="utf-8")
    wrong = tmp_path / "homes" / "nobody"
    wrong.mkdir(parents=True, mode=0o700)
    (wrong / "config.yaml").write_text("people:\n  ana: {may: approve}\n", encoding="utf-8")
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "homes" / "good"))
    assert CliRunner().invoke(app, ["token", "add", "ci"]).exit_code == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        names = {"folder": str(tmp_path), "port": str(taken.getsockname()[1])}
        assert made(names, command, monkeypatch) == (int(code), line)
    assert line.endswith(")")
