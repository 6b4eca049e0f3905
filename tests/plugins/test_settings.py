"""Keys of config.yaml that belong to installed distributions: found by entry points, and checked with the core's."""

import importlib
import json

import pytest

from replan.cli import diagnosis
from replan.setup import settings
from replan.setup.config_schemas import schema_text
from replan.setup.settings import UserConfig, read_user_config, settings_of
from runtime.core.errors import UsageProblem
from runtime.core.extras import EXTRAS
from tests.support.distributions import install

MODULE = """
from typing import ClassVar
from actors.files.validation_errors import Config, config_error
from pydantic import Field, model_validator
from replan.setup.settings import UserConfig

class PigeonEntry(Config):
    colour: str = "grey"
    miles: int = Field(default=5, ge=1)

class Pigeons(UserConfig):
    secret_keys: ClassVar = ("pigeons",)
    pigeons: PigeonEntry | None = None
    \"\"\"A pigeon that carries messages.\"\"\"
    lofts: tuple[str, ...] = ()
    \"\"\"Where pigeons sleep.\"\"\"

    @model_validator(mode="after")
    def _has_a_model(self):
        if self.pigeons and not self.model:
            raise config_error("pigeons need a model", ("pigeons",), "set it")
        return self

class Owls(UserConfig):
    owls: int = 0
"""
POINTS = {"pigeons": "birds:Pigeons", "lofts": "birds:Pigeons", "owls": "birds:Owls", "lost": "nowhere:Lost"}


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return a function that reads a config file, where a distribution with four keys is installed."""
    install(monkeypatch, tmp_path / "site", "loud-birds", {"replan.settings": POINTS}, birds=MODULE)

    def read_text(text):
        (tmp_path / "config.yaml").write_text(text)
        return read_user_config(tmp_path / "config.yaml")

    return read_text


def test_keys_of_distributions_are_read_beside_those_of_the_core(read):
    birds = importlib.import_module("birds")

    config = read("model: m\npigeons: {colour: white}\nlofts: [a]\nowls: 2\n")
    found = settings_of(config, birds.Pigeons)
    assert (found.model, found.pigeons.colour, found.lofts) == ("m", "white", ("a",))
    assert settings_of(config, birds.Owls).owls == 2


def test_a_distribution_whose_keys_are_not_in_the_file_is_not_loaded_and_has_its_defaults(read, monkeypatch):
    birds = importlib.import_module("birds")

    monkeypatch.setattr(settings.SETTINGS.__class__, "load", None)
    config = read("model: m\nprices: {}\n")
    assert type(config) is UserConfig
    found = settings_of(config, birds.Pigeons)
    assert (found.model, found.pigeons, found.prices) == ("m", None, config.prices)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model: m\npigeons: {miles: 0}", "config.yaml:2 pigeons.miles: should be at least 1"),
        ("model: m\npigeons: {colour: [secret]}", "config.yaml:2 pigeons.colour: should be text, not a list"),
        ("pigeons: {}", "config.yaml:1 pigeons: pigeons need a model (set it)"),
        ("owl: 1", "config.yaml:1 owl: unknown key 'owl'"),
        ("owls: 1\nowlz: 1", "config.yaml:2 owlz: unknown key 'owlz' (did you mean 'owls'"),
        ("lost: 1", "replan.settings lost (from loud-birds): cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_what_is_wrong_with_such_a_key_is_told_in_one_line(read, text, problem):
    with pytest.raises(UsageProblem) as caught:
        read(text)
    assert problem in str(caught.value)


def test_a_key_of_a_package_that_is_not_installed_names_what_to_install(read, monkeypatch):
    monkeypatch.setitem(EXTRAS, "server", {"settings": ("doves",)})
    with pytest.raises(UsageProblem) as caught:
        read("doves: 1")
    place, _, hint = str(caught.value).partition(": the key 'doves' belongs to a package that is not installed (")
    assert place.endswith("config.yaml:1 doves")
    assert hint.startswith("pip install ")


def test_the_schema_for_editors_has_the_keys_of_installed_distributions(read):
    schema = json.loads(schema_text(UserConfig))
    assert schema["title"] == "UserConfig"
    assert schema["properties"]["lofts"]["description"] == "Where pigeons sleep."
    assert {"model", "pigeons", "owls"} <= set(schema["properties"])
    assert "lost" not in schema["properties"]


def test_doctor_lists_the_keys_and_names_those_that_cannot_be_read(read):
    with pytest.raises(UsageProblem, match=r"replan.settings lost \(from loud-birds\): cannot be loaded"):
        diagnosis._describe_plugins()
