"""A kind that is only registered has a command and is started from Python."""

import dataclasses
import json

import pytest

import replan as python
from actors.run.limits import LIMITS, flag
from replan.cli.app import app
from replan.runs.kind_interface import KindOrder, installed_interfaces, outline_of
from tests.cli.conftest import home, replan  # noqa: F401 -- fixtures
from tests.cli.samples import write_script
from tests.support import poems
from tests.support.distributions import install
from tests.support.poems import GROUPS, PoemOrder


@pytest.fixture(autouse=True)
def installed(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path / "site", "replan-poems", GROUPS)


@pytest.fixture
def model(tmp_path):
    return write_script(tmp_path, {"poem": ["Dew on the lawn"] * 3})


def test_the_command_takes_the_fields_of_the_order_and_all_limits(replan, model):  # noqa: F811
    words = ("poem", "the morning", "--style", "haiku", "--rhymes", "--words", "dew=wet grass")
    done = replan(*words, "-m", model, "--no-input", "--json")
    assert done.exit_code == 6, done.stderr
    [run] = json.loads(replan("runs", "--json").stdout)["runs"]
    assert run["title"] == "the morning: three lines, in rhymes; dew means wet grass"
    assert "Do you like Dew on the lawn?" in replan("questions").stdout
    options = [option for param in app.get_command(None, "poem").params for option in param.opts]
    assert {*map(flag, LIMITS), "--model", "--detach", "--plugins"} <= set(options)
    assert "Start a run that writes a poem." in replan("help", "more").stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("poem", ""), "TOPIC: "),
        (("poem", "dew", "--style", "epic"), "style: there is no style 'epic' (haiku, limerick)"),
        (("poem", "dew", "--words", "x"), "'x' sets no value"),
        (("poem", "dew", "--words", "dew=wet grass"), "replan: the topic is one of the words"),
        (("poem", "dew", "--max-calls", "0"), "--max-calls"),
    ],
)
def test_a_wrong_order_is_one_line_and_nothing_is_written(replan, home, model, words, line):  # noqa: F811
    done = replan(*words, "-m", model)
    assert done.exit_code == 2
    [said] = done.stderr.splitlines()
    assert line in said
    assert not home.exists()


def test_a_program_admits_an_order_and_the_run_is_driven_like_any_other(home, model):  # noqa: F811
    order = KindOrder(fields=PoemOrder(topic="the sea"), limits={"max_calls": 2})
    run = python.admit("poem", order, model=model)
    result = python.resume(run, ask=lambda question: "yes" if "like" in question["text"] else None)
    assert (result.outcome, result.calls) == ("success", 1)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("tests.support.poems:NOTHING", "cannot be loaded: AttributeError"),
        ("tests.support.poems:STYLES", "the object is of type dict, not a KindInterface"),
        ("tests.support.no_poems:INTERFACE", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_an_interface_that_cannot_be_loaded_is_left_out_and_named_by_doctor(replan, monkeypatch, path, problem):  # noqa: F811
    monkeypatch.setattr(poems, "POEM", dataclasses.replace(poems.POEM, interface=path))
    assert "poem" not in [interface.kind for interface in installed_interfaces()]
    done = replan("doctor")
    assert f"{path} (the interface of the kind poem): {problem}" in " ".join(done.stdout.split())
    assert done.exit_code != 0


def test_the_interfaces_are_found_and_know_their_values():
    assert "poem" in [interface.kind for interface in installed_interfaces()]
    [shown] = outline_of(json.loads('{"poem": "Dew"}'))
    assert shown.plain == "Dew"
    assert outline_of({"other": 1}) == ()
