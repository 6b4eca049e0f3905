"""True and false are not taken for the numbers 1 and 0 in any file, and are taken where they are meant."""

from collections.abc import Mapping
from typing import Annotated

import pytest
from pydantic import BeforeValidator, Field, ValidationError

from actors.files.validation_errors import Config
from replan.setup.settings import read_user_config
from runtime.core.errors import UsageProblem


class Part(Config):
    """A part of a file."""

    size: int = 1


class File(Config):
    """A file with fields of several types."""

    plain: Annotated[int, Field(ge=0)] = 0
    optional: float | None = None
    listed: tuple[int, ...] = ()
    nested: Mapping[str, Mapping[int, float]] = {}
    named: float | str = ""
    switch: bool = False
    either: bool | int = 0
    own: Annotated[float, BeforeValidator(lambda value: 7.0)] = 0.0
    parts: Mapping[str, Part | int] = {}


@pytest.mark.parametrize(
    ("data", "path", "expected"),
    [
        ({"plain": True}, ("plain",), "should be a whole number, not True"),
        ({"optional": False}, ("optional",), "should be a number, not False"),
        ({"listed": [1, True]}, ("listed", 1), "should be a whole number, not True"),
        ({"nested": {"a": {1: 0.5, 2: True}}}, ("nested", "a", 2), "should be a number, not True"),
        ({"named": True}, ("named",), "should be a number, not True"),
        ({"parts": {"a": {"size": True}}}, ("size",), "should be a whole number, not True"),
    ],
)
def test_a_truth_value_for_a_number_is_refused_at_its_place(data, path, expected):
    with pytest.raises(ValidationError) as caught:
        File.model_validate(data)
    errors = [error for error in caught.value.errors() if error["type"] == "config"]
    assert [(error["ctx"]["path"], error["msg"]) for error in errors] == [(path, expected)]


def test_numbers_and_truth_values_are_taken_where_they_are_meant():
    data = {"plain": 1, "listed": [0, 1], "switch": True, "either": True, "own": True, "optional": None}
    read = File.model_validate({**data, "named": "1", "parts": {"a": {"size": 2}, "b": 3}})
    assert (read.plain, read.listed, read.switch, read.either, read.own) == (1, (0, 1), True, True, 7.0)
    assert read.parts == {"a": Part(size=2), "b": 3}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("home_budget: {usd: true}", "home_budget.usd: should be a number, not True"),
        ("home_budget: {calls: false}", "home_budget.calls: should be a whole number, not False"),
        ("tenants: {a: {usd: true}}", "tenants.a.usd: should be a number, not True"),
        ("host: {model_calls_max_by_provider: {openai: true}}", "openai: should be a whole number, not True"),
        ("clients: {max_calls: true}", "clients.max_calls: should be a whole number, not True"),
        ("clients: {active_time: true}", "clients.active_time: True is not a length of time"),
        ("clients: {active_time: 999999d}", "clients.active_time: should be at most 10000000000s, not '999999d'"),
    ],
)
def test_the_settings_take_no_truth_value_for_a_number(tmp_path, text, says):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(UsageProblem) as caught:
        read_user_config(path)
    assert says in str(caught.value)
