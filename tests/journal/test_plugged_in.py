"""Journals of installed distributions: a scheme of URLs, and what serves it."""

import pytest
from click.testing import CliRunner

import replan
from replan.cli.app import app
from replan.setup.home_folder import JOURNAL, database_url, database_wakeup, locate_home
from runtime.core.clock import SystemClock
from runtime.core.errors import UsageProblem
from runtime.open_journal import JOURNALS, open_dispatcher, open_journal, shown_url
from runtime.open_offline import open_inspection, open_raw, upgrade
from tests.cli.samples import PLAN, PROBLEM, write_script
from tests.support.distributions import install

MODULE = """
from runtime.journal.memory import MemoryStore, open_memory
from runtime.open_journal import JournalScheme

STORE = MemoryStore()

def open_kept(url, codecs, clock, budget):
    return open_memory(codecs, clock, store=STORE, budget=budget)

def shown(url, place):
    return "kept:" + url.rpartition("@")[2]

KEPT = JournalScheme(open=open_kept, shown_url=shown)
"""
SCHEMES = {"kept": "keepers:KEPT", "func": "keepers:shown", "lost": "nowhere:KEPT", "sqlite": "keepers:KEPT"}
URL = "kept://user:secret@there"


@pytest.fixture
def keepers(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", str(tmp_path / "home"))
    install(monkeypatch, tmp_path / "site", "safe-keepers", {"replan.journals": SCHEMES}, keepers=MODULE)


def test_runs_are_kept_in_the_journal_of_a_plug_in(keepers, tmp_path, monkeypatch):
    monkeypatch.setenv(JOURNAL, URL)
    workflow = tmp_path / "mine.yaml"
    workflow.write_text(
        "name: mine\naction_pairs:\n  g_plan: {generator: model, guard: plan_medium, prompt: plan_direct}\n"
    )
    result = replan.solve(PROBLEM, workflow=str(workflow), model=write_script(tmp_path, {"g_plan": [PLAN]}))
    assert result.succeeded
    listed = CliRunner().invoke(app, ["runs"])
    assert result.run_id in listed.stdout
    assert "The login works" in CliRunner().invoke(app, ["show", result.run_id]).stdout
    assert not locate_home().journal.exists()


def test_what_a_journal_does_not_offer_is_refused_without_its_password(keepers):
    assert shown_url(URL, JOURNAL) == "kept:there"
    offered = {
        "cannot be checked": lambda: open_inspection(URL).__enter__(),
        "cannot be copied": lambda: open_raw(URL).__enter__(),
        "cannot be upgraded": lambda: upgrade(URL, {}),
        "no queue for workers": lambda: open_dispatcher(URL, JOURNAL),
        "cannot wake hosts": lambda: database_wakeup({"REPLAN_JOURNAL_DIRECT": URL}),
    }
    for cause, call in offered.items():
        with pytest.raises(UsageProblem, match=cause) as caught:
            call()
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "cause"),
    [
        (
            "func://x",
            (
                "replan.journals func (from safe-keepers): "
                "is the function shown(url, place), and should be a JournalScheme"
            ),
        ),
        ("lost://x", "replan.journals lost (from safe-keepers): cannot be loaded: ModuleNotFoundError"),
        ("none://x", "no journal supports URLs that begin with none:"),
        ("kept:x", "no journal supports URLs that begin with kept:"),
    ],
)
def test_a_journal_that_cannot_be_used_is_named(keepers, url, cause):
    with pytest.raises(UsageProblem) as caught:
        open_journal(url, {}, SystemClock())
    assert str(caught.value).startswith(cause)


def test_a_scheme_that_nothing_serves_is_no_setting(keepers):
    with pytest.raises(UsageProblem, match="not the URL of a Postgres database"):
        database_url({JOURNAL: "none://x"})


def test_a_scheme_is_neither_taken_twice_nor_from_a_built_in_journal(keepers, tmp_path, monkeypatch):
    install(monkeypatch, tmp_path / "other", "other-keepers", {"replan.journals": {"kept": "keepers:KEPT"}})
    with pytest.raises(
        UsageProblem,
        match=r"kept \(from other-keepers and safe-keepers\): several packages have a plug-in of this name",
    ):
        open_journal(URL, {}, SystemClock())
    assert any(
        "sqlite (from safe-keepers): a plug-in cannot have a built-in name" in problem
        for problem in JOURNALS.problems()
    )
    assert JOURNALS.get("sqlite") is None
