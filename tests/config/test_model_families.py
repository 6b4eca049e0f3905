"""What records say of a model before its first run, and what a belief makes of it."""

import pytest

from actors.config.model_profiles import find_author
from actors.policy.author import Author
from actors.policy.belief import BeliefModel, Past, repeat_factors
from actors.run.settings import SettingsChanged
from replan.setup.installation import data_root
from runtime.core.errors import UsageProblem
from tests.policy.situations import SEEDS
from tests.support.worlds import pinned, shipped_policy

TABLE = shipped_policy("belief").belief
STRONG = Author(first_accepted=0.45, told_retry_mends=0.29, repeats=0.16)


@pytest.mark.parametrize(
    ("model", "pattern"),
    [
        ("gpt-3.5-turbo", "*gpt-3.5*"),
        ("Meta-Llama-3-70B-Instruct", "*llama*3*70b*"),
        ("llama-2-70b-chat", "*llama-2-*70b*chat*"),
        ("llama-2-70b", "*llama-2-*70b*"),
    ],
)
def test_the_longest_pattern_of_the_name_counts(model, pattern):
    author = find_author(model, data_root())
    assert author is not None
    assert author.source.startswith(f"family {pattern}: ")


@pytest.mark.parametrize("model", ["qwen3:8b", "gpt-9", "template:bug"])
def test_a_model_in_no_family_begins_with_the_numbers_of_the_policy(model):
    """They are those of the middle of the records, so nothing is pinned."""
    assert find_author(model, data_root()) is None


def test_a_wrong_table_is_refused_with_its_line(tmp_path):
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "model_families.yaml").write_text("middle: {first_accepted: 2}\nfamilies: []\n")
    with pytest.raises(UsageProblem, match=r"model_families\.yaml:1"):
        find_author("qwen3:8b", tmp_path)


def chance_of_a_retry(author):
    made = BeliefModel(TABLE, SEEDS, {step: step for step in SEEDS.steps}, author)
    return made.chance(made.odds(made.after(())), ("plan",), "plan")


def test_a_stronger_model_makes_a_retry_likelier_and_the_middle_changes_nothing():
    assert chance_of_a_retry(STRONG) > 1.5 * chance_of_a_retry(None)
    assert chance_of_a_retry(TABLE.author) == chance_of_a_retry(None)


def test_a_table_without_an_author_ignores_what_is_known_of_the_model():
    """A policy file from before means what it meant."""
    table = TABLE.model_copy(update={"author": None, "afresh": None})
    made = BeliefModel(table, SEEDS, {step: step for step in SEEDS.steps}, STRONG)
    assert made.author is None
    assert repeat_factors(made.author, table.afresh, (Past("plan", frozenset()),)) == (1.0, None)


def test_the_repeats_of_a_run_make_a_fresh_attempt_worth_more_than_a_retry():
    """The known share counts as two retries; each retry of the run counts as one."""
    again = Past("plan", frozenset(), repeats=True)
    first = Past("plan", frozenset())
    told, afresh = repeat_factors(TABLE.author, TABLE.afresh, (first,))
    assert (told, afresh < told) == (1.0, True)
    told, afresh = repeat_factors(TABLE.author, TABLE.afresh, (first, again, again))
    assert afresh > told
    other = repeat_factors(TABLE.author, TABLE.afresh, (first, first, first))
    assert other[0] == 1.0


def test_a_run_pins_what_is_known_and_forgets_it_with_its_model():
    config = pinned({"plan": {"role": "plan"}}, policy="belief").changed(author=STRONG)
    assert type(config).model_validate_json(config.model_dump_json()).belief.author == STRONG
    after = config.with_settings(SettingsChanged(at=0.0, model="other"))
    assert "author" not in after.model_dump(exclude={"policy"})
