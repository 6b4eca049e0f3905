"""The types of the API, as a type checker sees them in a program of a user."""

import inspect
import tomllib
from pathlib import Path

import pytest

import replan

ROOT = Path(__file__).resolve().parents[2]


def test_a_program_of_a_user_is_type_checked_with_the_project():
    """`make lint` accepts what is right in it, and fails where a wrong line is no error."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert settings["modules"] == ["tests.api.typed_program"]
    assert (ROOT / "tests" / "api" / "typed_program.py").read_text(encoding="utf-8").count("# type: ignore[") == 8


def test_the_signatures_are_explicit():
    for names in (("start", "asolve", "solve"), ("drive", "aresume", "resume")):
        first, *others = (inspect.signature(getattr(replan, name)).parameters for name in names)
        assert all(parameter.kind is not parameter.VAR_KEYWORD for parameter in first.values())
        assert [list(other.values()) for other in others] == [list(first.values())] * 2
    assert inspect.signature(replan.solve).return_annotation is replan.Result


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="modle"):
        replan.solve("Fix it.", modle="template:bug")
