"""The page about the Python API: its code runs, from top to bottom, as one program."""

import re
from pathlib import Path

import replan

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python-api.md"


def test_the_code_of_the_page_runs(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {"__name__": "page"})
    assert "success" in capsys.readouterr().out
    assert not (tmp_path / "home").exists()


def test_the_page_names_every_public_function_and_type():
    page = PAGE.read_text(encoding="utf-8")
    for name in set(replan.__all__) - {"Artifact", "Context", "Run"}:
        assert name in page
