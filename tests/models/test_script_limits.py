"""The limits of a script's file."""

import pytest

from runtime.core.errors import UsageProblem
from runtime.models import scripted
from runtime.models.scripted import FILE_BYTES_MAX, ScriptedModel

LEVELS = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]


def test_aliases_cannot_multiply_the_values(tmp_path, monkeypatch):
    """A few hundred bytes of nested aliases stand for billions of values."""
    path = tmp_path / "script.yaml"
    path.write_text("\n".join(["a0: &a0 [x]", *LEVELS]), encoding="utf-8")
    monkeypatch.setattr(scripted._Loader, "construct_object", None)  # Nothing is built before all is counted.
    with pytest.raises(UsageProblem, match="more than 50,000 values"):
        ScriptedModel.from_file(path)


def test_a_file_is_not_read_beyond_its_limit(tmp_path):
    """A device such as /dev/zero has no end."""
    path = tmp_path / "script.yaml"
    path.write_bytes(b"#" * (FILE_BYTES_MAX + 1))
    with pytest.raises(UsageProblem, match="the file is over 4 MiB"):
        ScriptedModel.from_file(path)


def test_ordinary_aliases_are_read(tmp_path):
    """A script may repeat a reply by an alias."""
    path = tmp_path / "script.yaml"
    path.write_text("g_a: [&first {x: 1}, *first]\n", encoding="utf-8")
    assert ScriptedModel.from_file(path).keys == {"g_a": "g_a"}
