"""Kinds are found by entry points; one that cannot be used is named with its distribution, and harms no other."""

from importlib.metadata import EntryPoint

import pytest

import replan
from actors.execution.kind import EXECUTION
from actors.handlers.agents import agent_kind
from actors.planning.kind import PLANNING
from replan.plugins import AgentTask, Limits
from replan.setup.kinds import GROUP, Kinds
from runtime.core import entry_points
from runtime.core.errors import KindUnknown, UsageProblem
from tests.run.haggler import Haggler
from tests.support.distributions import install

HAGGLER = agent_kind("haggler", Haggler())
"""A kind that an entry point below names."""
NO_KIND = "words"
"""A value that is no kind."""


@pytest.fixture
def installed(monkeypatch):
    """Install entry points: pairs of a name and a value."""

    def install(*pairs):
        points = tuple(EntryPoint(name, value, GROUP) for name, value in pairs)
        monkeypatch.setattr(entry_points, "_points", lambda group, _: points if group == GROUP else ())
        return Kinds()

    return install


def test_an_installed_kind_is_found_and_one_that_is_passed_in_wins(installed):
    kinds = installed(("haggler", f"{__name__}:HAGGLER"))
    assert kinds.named("haggler").name == "haggler"
    own = agent_kind("haggler", Haggler())
    assert Kinds([own]).named("haggler") is own


def test_planning_is_known_where_nothing_is_installed_and_its_own_entry_point_is_no_second_one(installed):
    assert installed().named("planning") is PLANNING
    own = {kind.name: kind.format for kind in (PLANNING, EXECUTION)}
    assert installed(("planning", "actors.planning.kind:PLANNING")).formats() == (own, [])


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("gone", "no_such_module:KIND", "cannot be loaded: ModuleNotFoundError"),
        ("lost", f"{__name__}:MISSING", "cannot be loaded: AttributeError"),
        ("words", f"{__name__}:NO_KIND", "is of type str, not a Kind"),
        ("other", f"{__name__}:HAGGLER", "the kind is named 'haggler'"),
    ],
)
def test_a_kind_that_cannot_be_used_is_named_and_the_others_work(installed, name, value, problem):
    kinds = installed((name, value), ("haggler", f"{__name__}:HAGGLER"))
    with pytest.raises(UsageProblem, match=problem) as caught:
        kinds.get("run", name, 1)
    assert caught.value.place.startswith(f"replan.kinds {name} (from ")
    formats, problems = kinds.formats()
    assert formats == {kind.name: kind.format for kind in (PLANNING, EXECUTION, HAGGLER)}
    [line] = problems
    assert problem in line
    assert kinds.codecs.get(name) is None
    assert kinds.codecs["haggler"] is HAGGLER.codec


def test_two_distributions_with_a_kind_of_one_name_are_a_problem(installed):
    kinds = installed(("haggler", f"{__name__}:HAGGLER"), ("haggler", f"{__name__}:NO_KIND"))
    with pytest.raises(UsageProblem, match="several packages have a plug-in of this name"):
        kinds.named("haggler")


def test_a_built_in_kind_is_not_replaced_and_who_tries_is_named(installed):
    kinds = installed(("planning", f"{__name__}:HAGGLER"))
    assert kinds.named("planning") is PLANNING
    formats, [problem] = kinds.formats()
    assert formats["planning"] == PLANNING.format
    assert problem.startswith("replan.kinds planning (from ")
    assert "a plug-in cannot have a built-in name" in problem


def test_a_run_of_an_unknown_kind_or_of_a_newer_format_says_what_to_do(installed):
    kinds, newer = installed(), PLANNING.format + 1
    with pytest.raises(KindUnknown, match=r"not installed here .*install the package that provides this kind"):
        kinds.get("run", "haggler", 1)
    with pytest.raises(KindUnknown, match=r"not installed here \(pip install .*acquire"):
        kinds.get("run", "acquisition", 1)
    with pytest.raises(KindUnknown, match=rf"in format {newer}.*upgrade the package that provides this kind"):
        kinds.get("run", "planning", newer)
    with pytest.raises(UsageProblem, match="known kinds: execution, planning"):
        kinds.named("haggler")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home that does not exist, in which the kind is installed, and a model whose price is not known."""
    points = {"replan.kinds": {"negotiation": "tests.kinds.negotiation:NEGOTIATION"}}
    install(monkeypatch, tmp_path / "site", "negotiation", points)
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    return tmp_path / "home"


@pytest.mark.parametrize(
    ("kind", "task", "cause"),
    [
        ("gardening", "a lamp", "there is no kind 'gardening' of agent"),
        ("negotiation", " ", "the task is empty"),
        ("negotiation", 7, "the task is not a string"),
        ("planning", " ", "the problem is empty"),
        ("planning", 7, "the task of a planning run must be text"),
        ("negotiation", AgentTask("a lamp", Limits(micro_usd=1_000_000)), "the price of 'some-model' is not known"),
    ],
)
def test_a_run_that_cannot_begin_is_refused_and_leaves_no_home(home, kind, task, cause):
    with pytest.raises(replan.UsageProblem, match=cause):
        replan.admit(kind, task, model="some-model")
    assert not home.exists()


def test_a_daily_budget_in_money_needs_a_price(home):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text("home_budget: {usd: 1}\n")
    with pytest.raises(replan.UsageProblem, match=r"home_budget\.usd"):
        replan.admit("negotiation", "a lamp", model="some-model")
