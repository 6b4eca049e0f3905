"""A retired name gets one line that says it is gone and what does its job, wherever it is written."""

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from actors.config.model_spec import parse_model_spec
from actors.files.suggestions import RETIRED, Written, describe_retired, nearest
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import parse_document
from replan.cli.app import app
from replan.setup.settings import UserConfig
from runtime.core.errors import UsageProblem


def gone(written: Written) -> list[str]:
    return list(RETIRED[written])


def last_line(*words: str) -> str:
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 2
    return " ".join(result.stderr.split())


def is_known(path: str) -> bool:
    return CliRunner().invoke(app, [*path.split(), "--help"]).exit_code == 0


@pytest.mark.parametrize("name", [name for name in gone("command") if not is_known(name)])
def test_a_retired_command_is_refused_with_what_does_its_job(name):
    assert describe_retired(name, "command") in last_line(*name.split())


def test_a_retired_option_is_refused_with_what_does_its_job():
    for written in gone("option"):
        assert describe_retired(written, "option") in last_line(*written.split(), "1")


def test_an_option_is_looked_up_with_the_names_of_its_command(monkeypatch):
    monkeypatch.setitem(RETIRED, "option", {"home copy --to": "name the journal after the first one"})
    assert "no option '--to': it is gone: name the journal" in last_line("home", "copy", "--to", "x")
    assert "it is gone" not in last_line("home", "verify", "--to", "x")


def test_a_retired_model_is_refused_with_what_does_its_job():
    for name in gone("model"):
        with pytest.raises(UsageProblem) as refused:
            parse_model_spec(name)
        assert refused.value.hint == describe_retired(name, "model")


@pytest.mark.parametrize("name", gone("key"))
def test_a_retired_key_of_a_file_is_refused_with_what_does_its_job(name):
    document = parse_document(f"host:\n  {name}: 1\n", source="config.yaml")
    with pytest.raises(ValidationError) as refused:
        UserConfig.model_validate(document.value)
    problem = usage_problem(refused.value, document)
    assert problem.place == f"config.yaml:2 host.{name}"
    assert problem.hint == describe_retired(name, "key")


def test_a_retired_word_is_gone_only_where_it_was_written(monkeypatch):
    """A tool may have the name of a setting that is gone."""
    monkeypatch.setitem(RETIRED, "value", {"slack": "write it yourself"})
    assert nearest("slack", ["slick"]) == "did you mean 'slick'?"
    assert nearest("slack", ["slick"], written="model") == "did you mean 'slick'?"
    assert nearest("slack", ["slick"], written="value").startswith("it is gone: ")


def test_explain_says_of_a_retired_extra_that_it_is_gone():
    assert describe_retired("attest") in last_line("explain", "attest")
