"""`explain` and `completion`: every word that users read has a meaning, and shells complete what can be named."""

import json
import os
import subprocess
from typing import get_args

import pytest

from actors.config.loader import load_policy
from actors.config.step_guards import BUILT_IN
from actors.config.workflow import GuardLevel
from actors.guards.plan_settings import GUARD_CATALOG
from actors.planning.events import PlanningOutcome
from actors.search.notation import read_search
from actors.values.findings import Code
from replan.cli.commands.explain import terms
from replan.cli.completing import SEARCHES
from replan.runs.reader import STATUSES
from runtime.models.replies import ReplyCode
from tests.cli.conftest import ROOT, run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN, RECON, STRATEGY
from tests.cli.test_bad_input import assert_refused

SCRIPT = {"g_analysis": [ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [PLAN]}


WORDS = {
    "outcomes": PlanningOutcome,
    "codes": Code,
    "codes of replies": ReplyCode,
    "catalog": GUARD_CATALOG,
    "guards": BUILT_IN,
    "statuses": STATUSES,
    "rules": [row.id for row in load_policy("default", ROOT).rows],
    "levels": get_args(GuardLevel),
    "steps": ["analysis", "recon", "strategy", "critique"],
    "words of the progress": ["requirement", "back-off", "revision"],
    "words of the table of demands": ["demand", "in no step", "declared", "consistent", "proved"],
    "words of the tree": ["accepted", "rejected", "made void"],
    "words of an execution": ["met", "kept", "not met", "holds", "lacks", "violated", "interrupted", "snapshot", "act"],
    "words of a dry run": ["at worst"],
}


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_every_word_that_users_read_is_explained(words):
    known = {term.name for term in terms()}
    missing = {str(word) for word in words} - known
    assert missing == set(), "add their meaning to configs/meanings.yaml or configs/terms.yaml"


def test_a_plural_is_explained_as_its_word(replan):
    assert replan("explain", "demands").stdout == replan("explain", "demand").stdout != ""


def test_terms_are_explained_where_they_are_shown(replan, problem, scripted):
    """Newcomers asked what `[human]` and `all_pruned` mean: the output names the command that says so."""
    planned = replan("run", problem, "-m", scripted(SCRIPT), "--no-input").stdout
    assert "In brackets: the guard that checks the step. To explain a guard: replan explain human\n" in planned
    assert replan("explain", "human").exit_code == 0
    pruned = replan(
        "run",
        problem,
        "-m",
        scripted({**SCRIPT, "g_recon": [{"reply": number} for number in range(14)]}),
        "--no-input",
        "--keep-trying",
    ).stdout
    assert "No plan: all_pruned" in pruned
    assert "What all_pruned means: replan explain all_pruned\n" in pruned
    waiting = replan("run", "-", "-m", "template:bug", "--no-input", input="Make it better, please.").stdout
    assert "replan explain" not in waiting


def test_a_term_is_explained_however_it_is_spelt(replan):
    assert "outcome of a run" in replan("explain", "all_pruned").stdout
    assert replan("explain", "ALL", "pruned").stdout == replan("explain", "all-pruned").stdout
    assert "A person takes over, or a new plan is made." in replan("explain", "hand", "over").stdout
    (term,) = json.loads(replan("explain", "plan.cycle", "--json").stdout)["terms"]
    assert term == {
        "name": "plan.cycle",
        "kind": "code of a finding",
        "means": "Dependencies form a cycle. From: plan_minimal.",
    }


def test_without_a_term_all_are_listed_and_an_unknown_one_has_a_hint(replan):
    assert len(json.loads(replan("explain", "--json").stdout)["terms"]) == len(terms())
    assert_refused(replan("explain", "composit"), "no term 'composit'", "did you mean 'composite'?")


@pytest.fixture
def completed(shell):
    """Return what bash offers for the last of some words, in a new process."""

    def complete(*words):
        environment = os.environ | {
            "_REPLAN_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("replan", *words)),
            "COMP_CWORD": str(len(words)),
        }
        with shell(env=environment) as process:
            out, err = process.communicate()
        assert (process.returncode, err) == (0, b"")
        return [line.partition(",")[2] for line in out.decode().splitlines() if line]

    return complete


def test_ids_workflows_searches_and_commands_are_completed(replan, home, problem, scripted, completed):
    assert completed("show", "") == []
    assert not home.exists(), "completing creates nothing"
    replan("run", problem, "-m", scripted(SCRIPT), "--no-input")
    run = run_id(replan)
    for command in ("show", "resume", "log", "tell", "cancel", "questions", "export"):
        assert completed(command, run[:2]) == [run]
    assert completed("run", "p.md", "-w", "option_a") == ["option_a", "option_ad"]
    assert completed("run", "p.md", "--search", "bea") == ["beam:3"]
    assert completed("policy", "show", "def") == ["default"]
    assert completed("expl") == ["explain"]


def test_questions_are_completed(replan, home, problem, scripted, completed):
    asking = scripted({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})
    replan("run", problem, "-m", asking, "--no-input")
    run = run_id(replan)
    assert completed("answer", "") == [f"{run}/q1"]
    assert completed("answer", run[:2]) == [f"{run}/q1"]
    assert completed("answer", f"{run}/") == [f"{run}/q1"]
    assert completed("answer", "nothing/") == []
    replan("answer", f"{run}/q1", "3.11")
    assert completed("answer", f"{run}/") == []
    assert completed("answer", "") == []


def test_all_questions_of_runs_that_wait_are_completed_before_a_run_is_named(
    replan, home, problem, scripted, completed
):
    script = {step: [{**reply[0], "open_questions": [f"What of {step}?"]}] for step, reply in SCRIPT.items()}
    for _ in range(2):
        replan("run", problem, "-m", scripted(script), "--no-input")
    runs = [each["run_id"] for each in json.loads(replan("runs", "--json").stdout)["runs"]]
    assert completed("answer", "") == [f"{run}/{name}" for run in runs for name in ("q1", "q2")]


@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_that_is_offered_exists(search):
    assert read_search(search)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_says_how_it_is_installed(replan, shell):
    script = replan("completion", shell).stdout
    first, _, rest = script.partition("\n")
    assert first.startswith("# Install it with: ")
    assert f"replan completion {shell}" in first
    assert "_REPLAN_COMPLETE" in rest
    as_json = json.loads(replan("completion", shell, "--json").stdout)
    assert as_json["script"] in script
    assert as_json["install"] in first
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_a_time_limit_holds_for_every_step(replan, problem, scripted):
    replan("run", problem, "-m", scripted(SCRIPT), "--no-input", "--timeout", "7.5")
    first = json.loads(replan("show", "--last", "--events", "--json").stdout)["events"][0]
    assert first["given"] == ["model_timeout_seconds"]
    workflow = json.loads(first["pinned"])["workflow"]
    assert workflow["model_timeout_seconds"] == 7.5
    assert {pair.get("timeout_seconds") for pair in workflow["action_pairs"].values()} == {None}
    assert_refused(replan("run", problem, "-m", "template:bug", "--timeout", "0"), "--timeout", "a number above 0")
