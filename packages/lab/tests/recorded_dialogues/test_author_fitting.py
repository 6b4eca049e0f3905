"""The simulated author that imitates recorded models, and the orders of work over recorded tasks."""

import json
import random

import pytest
import yaml
from click.testing import CliRunner

from replan.cli.app import app
from replan.setup.installation import data_root
from replan_lab.recorded_dialogues.author_fitting import (
    MEASURES,
    AuthorLines,
    FittedAuthor,
    Measured,
    authors_of,
    fit,
    judge,
    profile_files,
)
from replan_lab.recorded_dialogues.records import read_records
from replan_lab.recorded_dialogues.scheduling import queue_table
from replan_lab.simulated.profile import load_profile

LABORATORY = data_root() / "docs" / "experiments" / "full" / "profiles"


def measured(author):
    return Measured(**author.predict(), fresh_repeats=author.fresh_sticky, told_repeats=author.told_sticky)


def test_a_retry_without_effect_finds_what_a_fresh_attempt_finds():
    found = FittedAuthor(mean=0.2, size=2.0, fresh_sticky=0.0, told_sticky=0.0, lift=1.0).predict()
    assert found["told"] == pytest.approx(found["two"])
    assert found["first"] < found["two"] < found["four"]


def test_an_author_that_always_repeats_finds_nothing_more():
    found = FittedAuthor(mean=0.2, size=2.0, fresh_sticky=1.0, told_sticky=1.0, lift=1.0).predict()
    assert {round(found[name], 6) for name in MEASURES} == {round(found["first"], 6)}


@pytest.mark.parametrize("author", [FittedAuthor(0.1, 3.0, 0.5, 0.6, 0.4), FittedAuthor(0.4, 0.6, 0.3, 0.2, 3.0)])
def test_the_fit_finds_the_author_that_made_the_numbers(author):
    found = fit(measured(author))
    assert found.predict() == pytest.approx(author.predict(), abs=0.01)


def test_lines_through_alike_authors_predict_each_of_them():
    authors = [FittedAuthor(mean, 2.0, 0.5, 0.4, 0.5) for mean in (0.1, 0.2, 0.3)]
    assert AuthorLines(authors).at(0.2).predict() == pytest.approx(authors[1].predict(), abs=0.001)


def recorded(folder, tasks=12):
    """Write records of four models that solve a task more often the later its name comes in the alphabet."""
    chance, path = random.Random(1), folder / "records.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for strength in range(4):
            for task in range(tasks):
                for turns in range(2, 6):
                    right = chance.random() < 0.1 + 0.2 * strength
                    seq = [["S", f"{turns}", 3], *([] if right else [["S", f"{turns + task % 2}", 3, 0.5]])]
                    row = {"model": f"m{strength}", "feedback": "", "turns": turns, "task": "t", "id": str(task)}
                    file.write(json.dumps({**row, "success": right, "seq": seq}) + "\n")
    return path


def test_each_model_is_judged_by_an_author_that_was_not_fitted_to_it(tmp_path):
    rows = judge(read_records(recorded(tmp_path)))
    assert [row["model"] for row in rows] == ["m0", "m1", "m2", "m3"]
    assert all({*MEASURES, *(f"{name}_predicted" for name in MEASURES), "error"} < row.keys() for row in rows)
    assert rows[3]["first"] > rows[0]["first"]


def test_the_profiles_of_the_authors_can_be_loaded(tmp_path):
    """The committed profiles have the same names, keys and causes; their numbers come from MINT-bench."""
    authors = authors_of(read_records(recorded(tmp_path)))
    files = dict(profile_files(authors, "a test"))
    assert files.keys() == {path.stem for path in LABORATORY.glob("recorded_*.yaml")}
    for name, text in files.items():
        path = tmp_path / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        profile = load_profile(name, own=tmp_path)
        assert profile.sticky_afresh == pytest.approx(authors[name.split("_")[1]].fresh_sticky, abs=0.001)
        committed = LABORATORY / path.name
        assert yaml.safe_load(text).keys() == yaml.safe_load(committed.read_text(encoding="utf-8")).keys()
        assert profile.causes == load_profile(name, own=LABORATORY).causes


def test_the_command_compares_the_orders_at_each_budget(tmp_path):
    """With one attempt for each task, all first attempts are made in turn; with enough, both orders solve the same."""
    path = recorded(tmp_path)
    rows = queue_table(read_records(path))
    assert rows[2]["attempts_per_task"] == 1.0
    assert rows[2]["in_turn"] > rows[2]["one_after_the_other"]
    result = CliRunner().invoke(app, ["lab", "queue", str(path), "--json", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["rows"] == rows
    assert (tmp_path / "out" / "queue.svg").is_file()
