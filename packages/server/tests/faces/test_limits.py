"""Each limit of a run has one name in every face, and every face that starts a run takes all of them."""

import inspect
import os
import re

import pytest

import replan
from actors.planning.prepare import PlanningInput, RunOptions
from actors.run.limits import LIMITS, check_limits, duration_text, flag, seconds_of
from replan.cli.app import app
from replan.runs.executing import ExecutionOptions, prepare_to_execute, read_plan_file
from replan.runs.kind_interface import installed_interfaces
from replan.runs.prepare import RunOrder, prepare
from replan.runs.shipped_examples import example_named
from replan.setup.plugins import registry
from replan.setup.settings import CEILINGS, ClientsEntry, UserConfig
from replan_server.mcp.server import offered_tools
from replan_server.web.api_routes import openapi
from replan_server.web.rendering import render
from replan_server.web.run_page import _limits_text
from replan_server.web.start_costs import StartCost
from runtime.core.ledger import Limits
from tests.cli.conftest import ROOT
from tests.cli.samples import PROBLEM
from tests.support.limits import VALUES, check_limit

COMMANDS = ("run", "do", "execute", "resume", "fork")
FUNCTIONS = ("start", "solve", "drive", "resume", "limits", "start_execution", "execute", "do")
BODIES = ("StartRun", "StartExecution", "StartFork", "ChangedLimits")
TOOLS = ("plan", "execute", "fork", "limits")
EARLIER = re.compile(r"max_cost_usd|\w+_seconds|output_tokens")
"""Names that a face had for a limit beside the one name of all faces."""
FORKS = ("fork", "afork")
"""Functions that record a run and do not drive it: they take no plug-ins."""


def keywords(name):
    return inspect.signature(getattr(replan, name)).parameters


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_has_its_name_in_every_face(name):
    """On the command line, in Python, HTTP and MCP, on the pages, and in the documentation."""
    for command in COMMANDS:
        options = [option for param in app.get_command(None, command).params for option in param.opts]
        assert flag(name) in options, command
    for function in (*FUNCTIONS, *FORKS):
        assert name in keywords(function), function
    schemas = openapi()["components"]["schemas"]
    for body in BODIES:
        assert name in schemas[body]["properties"], body
    for tool, (_, entry) in offered_tools(allow_execute=True).items():
        starts = tool in {*TOOLS, *(interface.tool for interface in installed_interfaces())}
        assert (name in entry.takes.model_json_schema()["properties"]) == starts, tool
    assert f"`{name}`" in (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert f'name="{name}"' in form("planning")
    assert f'name="{name}"' in form("execution")


def form(kind):
    offer = {key: [] for key in ("workflows", "models", "tools", "profiles", "documents")}
    ceilings = dict.fromkeys(CEILINGS) | {"max_calls": 9}
    frame = {"csrf": "", "signed_in": True, "now": 0.0, "live": None, "here": "new", "notice": "", "user": ""}
    rights = {"may_answer": True, "may_control": True, "executes": True, "trouble": "", "limited": False, "key": ""}
    names = (*LIMITS, "model", "problem", "workflow", "strict", "plan_of", "tools")
    typed = dict.fromkeys(names, "")
    values = {"kind": kind, "limits": LIMITS, "typed": typed, "offer": {**offer, "ceilings": ceilings}}
    explained = {"like": "", "models": {}, "workflows": (), "cost": StartCost(), "kinds": (), "inputs": (), "kept": ""}
    return bytes(render("new.html", {**frame, **rights, **values, **explained}).body).decode()


def test_no_face_has_another_name_for_a_limit():
    taken = {name for function in FUNCTIONS for name in keywords(function)}
    taken |= {name for body in BODIES for name in openapi()["components"]["schemas"][body]["properties"]}
    taken |= {name for _, entry in offered_tools(allow_execute=True).values() for name in entry.takes.model_fields}
    taken |= set(ClientsEntry.model_fields)
    taken |= {param.name for name in COMMANDS for param in app.get_command(None, name).params}
    assert [name for name in taken if EARLIER.fullmatch(name)] == []
    assert set(CEILINGS) <= ClientsEntry.model_fields.keys() & LIMITS.keys()


def test_every_face_that_starts_a_run_takes_plug_ins():
    for command in COMMANDS:
        options = [option for param in app.get_command(None, command).params for option in param.opts]
        assert "--plugins" in options, command
    for function in set(FUNCTIONS) - {"limits"}:
        assert {"guards", "generators"} <= set(keywords(function)), function


@pytest.mark.parametrize("kind", ["planning", "execution"])
@pytest.mark.parametrize("name", VALUES)
def test_a_limit_that_is_given_holds_in_a_run_of_every_kind(tmp_path, kind, name):
    check_limit(name, *(prepared(kind, tmp_path, limits) for limits in ({name: VALUES[name]}, {})))


def prepared(kind, folder, limits):
    """Return the prepared run of a kind with these limits."""
    environment = {"REPLAN_HOME": str(folder / "home"), "PATH": os.environ["PATH"]}
    how = {"registry": registry(), "environment": environment, "config": UserConfig()}
    match kind:
        case "planning":
            return prepare(RunOrder(PlanningInput(PROBLEM, RunOptions(limits=limits)), "template:bug"), **how).request
        case "execution":
            example = example_named("repair")
            work = folder / "work"
            if not work.exists():
                example.copy_project(work)
            options = ExecutionOptions(tools=example.tools, workspace=str(work), workflow="search", limits=limits)
            return prepare_to_execute(read_plan_file(example.plan), options, example.model, **how).request


def test_a_length_of_time_is_a_number_of_seconds_or_a_text_with_its_unit():
    assert [seconds_of(text) for text in ("90s", "15m", "2h", "1d", "1.5h", 7)] == [
        90.0,
        900.0,
        7_200.0,
        86_400.0,
        5_400.0,
        7,
    ]
    assert [duration_text(seconds) for seconds in (90.0, 900.0, 7_200.0, 86_400.0, 0.5, 1e10)] == [
        "90s",
        "15m",
        "2h",
        "1d",
        "0.5s",
        "10000000000s",
    ]
    for wrong in ("", "0s", "soon", "15", "-1m", "1w", True, False):
        with pytest.raises(ValueError, match="length of time"):
            seconds_of(wrong)


@pytest.mark.parametrize(
    ("limits", "place"),
    [
        ({"max_calls": True}, "max_calls"),
        ({"max_calls": 0}, "max_calls"),
        ({"max_cost": float("nan")}, "max_cost"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"deadline": "soon"}, "deadline"),
        ({"stop_below": 1.5}, "stop_below"),
        ({"keep_trying": 1}, "keep_trying"),
        ({"keep_trying": True, "stop_below": 0.1}, "keep_trying"),
    ],
)
def test_a_limit_that_is_not_valid_is_refused_by_its_name(limits, place):
    with pytest.raises(replan.UsageProblem) as caught:
        check_limits(limits)
    assert caught.value.place == place


@pytest.mark.parametrize(
    "field", sorted(Limits.model_fields.keys() - {"deadline", "patience_seconds", "stop_below", "at_limit"})
)
def test_the_page_of_a_run_names_every_limit_of_what_it_may_use(field):
    assert _limits_text(Limits(**{field: 7})) != _limits_text(Limits())
