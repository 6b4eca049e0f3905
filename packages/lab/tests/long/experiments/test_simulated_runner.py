"""Trials are written in their order, so that a killed experiment goes on and ends with the same bytes."""

from multiprocessing import resource_tracker
from shutil import copytree

import pytest

from packages.lab.tests.experiments.conftest import prepared_in
from replan.setup.installation import release
from replan_lab.experiments.preparation import PreparedExperiment
from replan_lab.experiments.results import HEADER, RESULTS, ResultsFolder, read_frame, read_results
from replan_lab.experiments.runner import run_simulated
from runtime.core.errors import UsageProblem


def run(experiment, folder, jobs=1):
    return run_simulated(experiment, ResultsFolder(folder, experiment.header()), lambda done, of: None, jobs)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder with the results of the small experiment, run once without interruption."""
    folder = tmp_path_factory.mktemp("results")
    run(prepared_in(folder), folder / "whole")
    return folder / "whole"


@pytest.fixture
def whole(results, tmp_path):
    """The same results in the test's folder."""
    copytree(results, tmp_path / "whole")
    return (tmp_path / "whole" / RESULTS).read_bytes()


@pytest.mark.parametrize("kept", [0, 1, 700, 3000])
def test_an_experiment_that_was_killed_ends_with_the_same_bytes(prepared, tmp_path, whole, kept):
    """Also if it was killed in the middle of a line."""
    folder = tmp_path / "whole"
    (folder / RESULTS).write_bytes(whole[:kept])
    progress, experiment = [], prepared()
    run_simulated(experiment, ResultsFolder(folder, experiment.header()), lambda *done: progress.append(done), 1)
    assert (folder / RESULTS).read_bytes() == whole
    assert progress[0] == (whole[:kept].count(b"\n"), 8)
    assert progress[-1] == (8, 8)


@pytest.fixture
def no_tracker():
    """End the resource tracker, a process that multiprocessing would keep until this process ends."""
    yield
    resource_tracker._resource_tracker._stop()


def test_several_processes_write_the_same_bytes_as_one(prepared, tmp_path, whole, no_tracker, monkeypatch):
    monkeypatch.setattr("replan_lab.experiments.runner.CHUNK", 2)
    run(prepared(), tmp_path / "two", jobs=2)
    assert (tmp_path / "two" / RESULTS).read_bytes() == whole


def test_a_finished_experiment_runs_nothing_again(prepared, tmp_path, whole, monkeypatch):
    monkeypatch.setattr(PreparedExperiment, "run_trial", lambda *_: pytest.fail("ran again"))
    run(prepared(), tmp_path / "whole")
    assert (tmp_path / "whole" / RESULTS).read_bytes() == whole


def test_the_budget_of_an_experiment_is_never_exceeded(prepared, tmp_path, whole):
    trials = run(prepared(budget={"calls": 70}), tmp_path / "calls")
    assert sum(trial.calls for trial in trials) <= 70
    assert sum(trial.calls for trial in trials) + 30 > 70
    assert len(run(prepared(budget={"usd": 0.1}), tmp_path / "usd")) < 8


@pytest.mark.parametrize(
    "case",
    [
        ({"max_calls": 5}, RESULTS, None, "the folder has the results of another experiment or definition"),
        (
            {"seeds": {"first": 1, "count": 4}},
            RESULTS,
            None,
            "the folder has the results of another experiment or definition",
        ),
        (
            {},
            HEADER,
            lambda text: text.replace(f'"release": "{release()}"', '"release": "0.0.1"'),
            "made these results",
        ),
        ({}, HEADER, lambda _: '{"schema_version": 2}', "this release cannot read the results"),
        ({}, HEADER, lambda _: None, r"has results, but no experiment\.json"),
        ({}, RESULTS, lambda text: f'{text}{{"arm": "x"}}\n', r"results\.jsonl:9: this release cannot read the result"),
        ({}, RESULTS, lambda text: "".join(text.splitlines(True)[1::-1]), "not in the order of the experiment"),
    ],
)
def test_results_that_are_not_of_this_experiment_are_refused_and_not_changed(prepared, tmp_path, whole, case):
    changes, file, change, cause = case
    path = tmp_path / "whole" / file
    text = path.read_text() if change is None else change(path.read_text())
    path.unlink() if text is None else path.write_text(text)
    before = (tmp_path / "whole" / RESULTS).read_bytes()
    with pytest.raises(UsageProblem, match=cause):
        run(prepared(**changes), tmp_path / "whole")
    assert (tmp_path / "whole" / RESULTS).read_bytes() == before


def test_a_folder_that_cannot_be_written_is_reported_in_one_line(prepared, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageProblem, match="file/out: cannot be written: Not a directory"):
        run(prepared(), tmp_path / "file" / "out")


def test_results_are_read_as_a_frame(prepared, tmp_path, whole):
    frame = read_frame(tmp_path / "whole")
    trials = read_results(tmp_path / "whole")
    assert list(frame["calls"]) == [trial.calls for trial in trials]
    assert list(frame["g_plan.attempts"]) == [trial.steps["g_plan"].attempts for trial in trials]
    assert set(frame["arm"]) == {"search/depth_first", "search/blind"}


def test_a_trial_has_the_metrics_of_its_run(prepared, tmp_path, whole):
    for trial in read_results(tmp_path / "whole"):
        assert trial.solved is trial.passed  # They only differ if the guard errs.
        assert trial.calls == sum(use.calls for use in trial.steps.values())
        assert trial.micro_usd > 0
        assert trial.seconds > 0
        assert trial.cause
        assert sum(trial.rules.values()) >= len(trial.depths)
