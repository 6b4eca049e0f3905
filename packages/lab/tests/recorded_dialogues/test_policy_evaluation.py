"""Policies over recorded dialogues: what they see, what counts, how cases are paired, and wrong files."""

import gzip
import json

import pytest
import yaml
from click.testing import CliRunner

from actors.config.loader import load_policy
from replan.cli.app import app
from replan.setup.installation import data_root
from replan_lab.recorded_dialogues.model_families import families_file
from replan_lab.recorded_dialogues.policies import ARMS, ModelRecord, RejectedAttempt, Seen
from replan_lab.recorded_dialogues.policy_evaluation import (
    KnownModels,
    arms_for,
    cases_of,
    compare,
    fold_of,
    play,
    plots_of,
    tables_of,
)
from replan_lab.recorded_dialogues.records import Move, RecordedAttempt, read_records
from replan_lab.recorded_dialogues.table_policies import decide_by
from runtime.core.errors import UsageProblem

MIDDLING = ModelRecord(0.5, 0.2, 0.2, 0.3, 10)


def episode(model, task, turns, success, *texts, feedback=""):
    seq = [["S", text, len(text)] for text in texts]
    return {
        "model": model,
        "feedback": feedback,
        "turns": turns,
        "task": "t",
        "id": task,
        "success": success,
        "seq": seq,
    }


def written(folder, rows, name="records.jsonl"):
    path = folder / name
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def seen(*attempts, known=MIDDLING, moves=frozenset(Move)):
    first, *others = attempts
    made = (RejectedAttempt(None, first), *(RejectedAttempt(Move.RETRY, attempt) for attempt in others))
    return Seen(made, moves, 3, "m", known)


def rejected(text, *, informative=False):
    return RecordedAttempt(text, accepted=False, informative=informative)


EPISODES = [
    episode("m", "1", 2, True, "a", "b"),  # A retry mends it.
    episode("m", "1", 3, False, "a"),  # Rejected, and nothing is proposed any more.
    episode("m", "1", 1, False, "a"),  # No turn is left, so it is only a fresh attempt for the others.
    episode("m", "2", 2, False, "a", "a"),  # The reply comes again.
    episode("m", "2", 3, True, "c"),  # A fresh attempt is right.
    episode("m", "2", 3, False, "x", feedback="words"),  # It has no other episode under the same conditions.
]


PROMPTS = [
    {"run": f"results/d/m/{prompt}.json", "task": task, "ok": prompt == "b", "plan": prompt, "steps": 3}
    for task in (1, 2)
    for prompt in "ab"
]


def test_every_rejection_with_a_turn_left_counts(tmp_path):
    """Also one after which nothing was proposed; a case needs another dialogue of the same model and task."""
    records = read_records(written(tmp_path, EPISODES, "records.jsonl.gz"))
    cases = cases_of(records)
    assert [(case.task, case.prompt) for case in cases] == [("t/1", "2"), ("t/1", "3"), ("t/2", "2")]
    comparison = compare(records, {"retry": ARMS["retry"], "afresh": ARMS["afresh"]})
    assert comparison.success("retry").tolist() == [1.0, 0.0, 0.0]
    assert comparison.success("afresh").tolist() == [0.0, 0.0, 1.0]


def test_a_fresh_attempt_is_the_mean_over_the_other_dialogues(tmp_path):
    rows = [*EPISODES, episode("m", "2", 4, False, "a", "d")]
    records = read_records(written(tmp_path, rows))
    case = next(case for case in cases_of(records) if case.task == "t/2")
    assert play(records, case, ARMS["afresh"], MIDDLING).solved_by == (0.0, 0.5)


def test_what_is_known_of_a_model_comes_from_its_other_tasks(tmp_path):
    """Without the part of a task the numbers do not depend on that task. An unknown model has the middle of all."""
    records = read_records(written(tmp_path, EPISODES))
    known = KnownModels(records)
    assert fold_of("t/1") != fold_of("t/2")
    without = known.of("m", fold_of("t/2"))
    changed = [*EPISODES[:3], episode("m", "2", 2, True, "a", "z"), episode("m", "2", 3, False, "c")]
    assert KnownModels(read_records(written(tmp_path, changed))).of("m", fold_of("t/2")) == without
    assert known.of("nobody").shares == pytest.approx(known.of("m").shares)
    assert known.of("nobody").count == 0


def test_the_informed_policy_begins_afresh_where_the_reply_came_again_and_stops_at_the_second_time():
    informed = ARMS["informed"]
    assert informed(seen(rejected("a"))) is Move.RETRY
    assert informed(seen(rejected("a"), rejected("a"))) is Move.AFRESH
    no_afresh = frozenset({Move.RETRY, Move.STOP})
    assert informed(seen(rejected("a"), rejected("a"), moves=no_afresh)) is Move.RETRY
    assert informed(seen(rejected("a"), rejected("a"), rejected("a"), moves=no_afresh)) is Move.STOP
    assert informed(seen(rejected("a"), rejected(""), moves=no_afresh)) is Move.STOP


def test_the_informed_policy_leaves_a_dialogue_early_only_without_a_fact_and_for_a_clearly_better_chance():
    informed = ARMS["informed"]
    better, clearly = ModelRecord(0.5, 0.20, 0.24, 0.3, 10), ModelRecord(0.5, 0.20, 0.26, 0.3, 10)
    assert informed(seen(rejected("a"), known=better)) is Move.RETRY
    assert informed(seen(rejected("a"), known=clearly)) is Move.AFRESH
    assert informed(seen(rejected("a", informative=True), known=clearly)) is Move.RETRY


def rewards(run, task, *turns):
    return {
        "run": run,
        "task": task,
        "hardness": "easy",
        "seq": [[text, 9, reward, kind, 5] for text, reward, kind in turns],
    }


def test_a_retry_after_a_dialogue_of_one_turn_continues_the_one_before(tmp_path):
    long, short = "ic_sql_multiturn_gpt-3.5_10_turns_handicap", "ic_sql_multiturn_gpt-3.5-1_turns_handicap"
    wrong, right = ("a", 0.5, "ok"), ("b", 1.0, "ok")
    rows = [rewards(long, task, wrong, right) for task in (1, 2)] + [rewards(short, task, wrong) for task in (1, 2)]
    records = read_records(written(tmp_path, rows))
    assert [case.model for case in cases_of(records)] == ["gpt-3.5, schema given"] * 2
    assert play(records, cases_of(records)[0], ARMS["afresh"], MIDDLING).solved_by == (0.0, 0.0, 1.0)
    assert not cases_of(records)[0].attempts[0].informative


def test_the_tables_and_plots_have_every_arm(tmp_path):
    records = read_records(written(tmp_path, EPISODES))
    comparison = compare(records, arms_for(records))
    tables = tables_of(comparison)
    assert [row["arm"] for row in tables["arms"]] == list(arms_for(records)) == list(comparison.played)
    afresh = next(row for row in tables["arms"] if row["arm"] == "afresh")
    assert afresh["delta"] == 0.0
    assert afresh["together_low"] <= afresh["delta_low"] <= afresh["delta_high"] <= afresh["together_high"]
    assert [row["cases"] for row in tables["models"]] == [3]
    assert not {"repeats", "stops"} & tables.keys(), "no dialogue is long enough for them"
    assert dict(plots_of(comparison, tables)).keys() == {"delta", "budgets", "models"}


def test_the_table_of_stops_says_what_a_rule_saves_and_loses(tmp_path):
    """The first dialogue is solved after two repeats, the second at the seventh attempt, the third never."""
    proposals = ("aaab", "abcdefg", "aaaaaa")
    rows = [
        {
            "run": "r",
            "task": str(at),
            "visible": at < 2,
            "hidden": True,
            "rounds": 9,
            "seq": [[text, 1] for text in texts],
        }
        for at, texts in enumerate(proposals)
    ]
    records = read_records(written(tmp_path, rows))
    table = {row["rule"]: row for row in tables_of(compare(records, arms_for(records)))["stops"]}
    assert {rule: (row["calls"], row["lost"]) for rule, row in table.items()} == {
        "never": (17, 0),
        "second_repeat": (3 + 7 + 3, 1),
        "third_repeat": (4 + 7 + 4, 0),
        "six_attempts": (4 + 6 + 6, 1),
        "second_repeat_or_six_attempts": (3 + 6 + 3, 2),
    }
    assert (table["second_repeat"]["share_saved"], table["second_repeat"]["share_lost"]) == (0.2353, 0.5)


def test_repairs_and_prompts_are_played_with_the_moves_that_they_record(tmp_path):
    repairs = [
        {
            "run": "r",
            "task": str(at),
            "visible": at == 1,
            "hidden": True,
            "rounds": 2,
            "seq": [["a", 1], ["a", 1], [end, 1]],
        }
        for at, end in ((1, "b"), (2, "a"))
    ]
    records = read_records(written(tmp_path, repairs))
    assert list(arms_for(records)) == ["retry", "stop", "informed"]
    assert [play(records, case, ARMS["informed"], MIDDLING).calls for case in cases_of(records)] == [2, 2]
    records = read_records(written(tmp_path, PROMPTS))
    assert list(arms_for(records)) == ["rephrase", "stop", "informed"]
    assert compare(records, {"rephrase": ARMS["rephrase"]}).success("rephrase").tolist() == [1.0, 1.0]


def test_an_arm_is_compared_with_the_baseline_of_the_form_also_where_only_that_arm_is_named(tmp_path):
    """Records of prompts have no retries, so the baseline is `stop`."""
    words = ["lab", "recorded", str(written(tmp_path, PROMPTS)), "--arm", "rephrase", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["arm", "rephrase", "stop", "Tables"]


def test_the_table_of_families_has_the_middle_for_models_without_a_pattern(tmp_path):
    rows = [{**row, "model": name} for row in EPISODES for name in ("claude-2", "unnamed")]
    table = yaml.safe_load(families_file(read_records(written(tmp_path, rows)), "source", "2026-01-01", "a test"))
    assert [row["pattern"] for row in table["families"]] == ["*claude-2*"]
    assert table["middle"]["n"] == 6
    assert table["families"][0].keys() - {"pattern"} == table["middle"].keys()


@pytest.mark.parametrize(
    ("rows", "cause"),
    [
        (["{"], "no JSON"),
        (['{"a": 1}'], "the record has no known form"),
        ([], "the file has no records"),
        ([json.dumps(EPISODES[0]), '{"a": 1}'], "does not have the keys"),
        ([json.dumps(EPISODES[0]), json.dumps(EPISODES[1])], "all records are about one task"),
        ([json.dumps({**EPISODES[0], "success": None})] * 2, "no record has a verdict"),
        ([json.dumps({**EPISODES[0], "seq": [["S"]]})], "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_with_its_place(tmp_path, rows, cause):
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(UsageProblem, match=cause) as error:
        read_records(path)
    assert str(path) in str(error.value.place)


def test_records_without_a_verdict_are_counted_and_left_out(tmp_path):
    rows = [*EPISODES, {**EPISODES[0], "success": None}]
    assert read_records(written(tmp_path, rows)).left_out == 1


def test_the_command_writes_tables_and_plots_and_prints_the_arms(tmp_path):
    path = written(tmp_path, [*EPISODES, {**EPISODES[0], "success": None}])
    result = CliRunner().invoke(
        app, ["lab", "recorded", str(path), "--arm", "informed", "--out", str(tmp_path / "out")]
    )
    assert result.exit_code == 0
    assert "1 records are ignored, because they have no verdict" in result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["arm", "retry", "informed", "Tables"]
    assert {"arms.csv", "models.csv", "delta.svg"} <= {file.name for file in (tmp_path / "out").iterdir()}
    unknown = CliRunner().invoke(app, ["lab", "recorded", str(path), "--arm", "informd"])
    assert unknown.exit_code == 2
    assert "there is no arm 'informd'" in unknown.stderr


@pytest.mark.parametrize("name", ["default", "belief"])
def test_a_policy_file_retries_first_and_begins_afresh_where_the_reply_came_again(name):
    choose = decide_by(load_policy(name, data_root()))
    assert choose(seen(rejected("a", informative=True))) is Move.RETRY
    assert choose(seen(rejected("a", informative=True), rejected("a", informative=True))) is Move.AFRESH
    only = frozenset({Move.RETRY, Move.STOP})
    assert choose(seen(rejected("a"), rejected("a"), moves=only)) is Move.RETRY


def test_the_command_plays_a_policy_file_beside_the_arms(tmp_path):
    path = written(tmp_path, EPISODES)
    words = ["lab", "recorded", str(path), "--arm", "retry", "-p", "default", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, words)
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["arm", "retry", "default", "Tables"]
