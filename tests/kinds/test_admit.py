"""What `replan.admit` refuses, before anything is written."""

import pytest

import replan
from replan.agents import AgentTask, Limits
from replan.setup import plugins


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home that does not exist, in which the kind is installed, and a model whose price is not known."""
    info = tmp_path / "site" / "negotiation-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: negotiation\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[replan.kinds]\nnegotiation = tests.kinds.negotiation:NEGOTIATION\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    plugins._points.cache_clear()
    yield tmp_path / "home"
    plugins._points.cache_clear()


@pytest.mark.parametrize(
    ("kind", "task", "cause"),
    [
        ("gardening", "a lamp", "there is no kind 'gardening' of agent"),
        ("negotiation", " ", "the task is empty"),
        ("negotiation", 7, "the task is no text"),
        ("planning", " ", "the problem is empty"),
        ("planning", 7, "the task of a planning run is no text"),
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
