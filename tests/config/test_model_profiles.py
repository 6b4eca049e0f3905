"""The home's file of measured models: it is used first, and refused in one line if it cannot be used."""

import pytest

from actors.config.model_profiles import ModelProfile, read_profile
from actors.planning.config import read_config
from actors.planning.evolve import start_state
from actors.planning.prepare import PlanningInput, RunOptions, fork_config, prepare_planning
from actors.run.kind import Setup
from replan.setup.installation import data_root
from replan.setup.plugins import registry
from runtime.core.errors import UsageProblem
from runtime.core.ledger import Limits
from tests.support.planning_start import planning_start

PROFILE = ModelProfile(runs=60, accepted=30, told=20, mended=10, again=2, date="2026-11-29")


def prepared(model, profile=None):
    setup = Setup(model, None, registry(), data_root(), {}, 0.0, profile_of=lambda _: profile)
    return prepare_planning(PlanningInput("The login fails.", RunOptions()), setup).pinned


def test_a_profile_comes_before_the_family_and_is_pinned():
    assert prepared("gpt-3.5-turbo").author.source.startswith("family *gpt-3.5*")
    author = prepared("gpt-3.5-turbo", PROFILE).author
    assert author.source == "profile (60 runs, 2026-11-29)"
    assert author.in_runs
    assert 0.4 < author.first_accepted < 0.5


@pytest.mark.parametrize("other", [("search", None), (None, "belief")], ids=["another workflow", "another policy"])
def test_a_fork_keeps_the_numbers_of_its_run(other):
    """A profile that was measured after the start changes no fork; a run that began with the middle keeps that."""
    for author in prepared("gpt-3.5-turbo").author, None:
        config = prepared("gpt-3.5-turbo").changed(author=author)
        state = start_state(planning_start(0.0, config, Limits()))
        setup = Setup("gpt-3.5-turbo", None, registry(), data_root(), {}, 0.0, profile_of=lambda _: PROFILE)
        assert read_config(fork_config(state, *other, setup).pinned).author == author


def test_a_template_takes_no_profile():
    assert prepared("template:bug", PROFILE).author is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("format: 2\nmodels: {}\n", "the file has format 2; this version of Replan reads format 1"),
        ("models: {}\n", "the file has format None; this version of Replan reads format 1"),
        ("format: 1\nmodels: {m: {runs: 1}}\n", "accepted"),
        (
            "format: 1\nmodels: {m: {runs: 1, accepted: 2, told: 0, mended: 0, again: 0, date: '2026-11-29'}}\n",
            "2 is more than the 1",
        ),
        ("format: [\n", "model_profiles.yaml:"),
    ],
    ids=["another format", "no format", "a missing count", "more than all", "no YAML"],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path, text, words):
    path = tmp_path / "model_profiles.yaml"
    path.write_text(text)
    with pytest.raises(UsageProblem) as refused:
        read_profile("m", path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_profile_from_another_version_names_the_next_step(tmp_path):
    path = tmp_path / "model_profiles.yaml"
    path.write_text("format: 2\n")
    with pytest.raises(UsageProblem, match="replan lab profile"):
        read_profile("m", path)
