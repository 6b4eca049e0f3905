"""The shipped profiles are valid, and an error in a profile is one line."""

import pytest
import yaml

from replan.setup.installation import data_root
from replan_lab.simulated.profile import LEVELS, UNSOLVABLE, AuthorOdds, load_profile
from replan_lab.simulated.seeded import DIFFICULTIES, difficulties
from runtime.core.errors import UsageProblem

SHIPPED = sorted(path.stem for path in (data_root("replan_lab") / "configs" / "profiles").glob("*.yaml"))
LABORATORY = data_root() / "docs" / "experiments" / "full" / "profiles"


def own(tmp_path, **changes):
    """Write the base profile with changes as `own`; return its folder."""
    value = yaml.safe_load((data_root("replan_lab") / "configs" / "profiles" / "base.yaml").read_text())
    return written(tmp_path, **{**value, "name": "own", **changes})


def written(tmp_path, **value):
    (tmp_path / f"{value['name']}.yaml").write_text(yaml.safe_dump(value))
    return tmp_path


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_profile_loads_under_its_name(name):
    assert load_profile(name).name == name


def test_the_profiles_of_the_laboratory_are_found_beside_its_experiments_only():
    for path in LABORATORY.glob("*.yaml"):
        assert load_profile(path.stem, own=LABORATORY).name == path.stem
        with pytest.raises(UsageProblem, match="unknown profile"):
            load_profile(path.stem)


def test_a_profile_beside_an_experiment_is_taken_before_a_shipped_one(tmp_path):
    folder = written(tmp_path, name="deaf", description="d", based_on="base", easy=0.5)
    assert load_profile("deaf", own=folder).easy == 0.5


def test_the_four_worlds_differ_from_the_base_in_their_causes_only():
    base = load_profile("base").model_dump()
    for name in ("plan_level", "strategy_level", "analysis_level", "unsolvable"):
        world = load_profile(name).model_dump()
        assert {key for key in world if world[key] != base[key]} == {"name", "description", "causes", "based_on"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"causes": {"plan": 0.5, "strategy": 0.4}}, "the shares add up to 0.9, not to 1"),
        ({"findings": {"plan": {"goal": 1.0}}}, "no entry for the cause 'analysis'"),
        ({"oddz": {}}, "did you mean 'odds'?"),
        ({"easy": 1.5}, "easy"),
        ({"odds": {"alpha": 0, "beta": 1}}, "alpha"),
        ({"causes": {"weather": 1.0}}, "causes"),
        ({"name": "other"}, "unknown profile"),
    ],
)
def test_an_invalid_profile_is_reported_in_one_line(tmp_path, changes, message):
    folder = own(tmp_path, **changes)
    with pytest.raises(UsageProblem) as caught:
        load_profile("own", own=folder)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_row_whose_shares_do_not_add_up_is_named(tmp_path):
    rows = {cause: {"goal": 1.0} for cause in (*LEVELS, UNSOLVABLE)} | {"recon": {"goal": 0.9}}
    with pytest.raises(UsageProblem, match=r"findings\.recon.*0\.9"):
        load_profile("own", own=own(tmp_path, findings=rows))


def test_a_profile_cannot_be_based_on_one_that_is_based_on_another(tmp_path):
    own(tmp_path)
    written(tmp_path, name="second", description="d", based_on="own", easy=0.5)
    written(tmp_path, name="third", description="d", based_on="second")
    assert load_profile("second", own=tmp_path).easy == 0.5
    with pytest.raises(UsageProblem, match="or has the key"):
        load_profile("third", own=tmp_path)


def test_the_name_of_a_profile_is_that_of_its_file(tmp_path):
    own(tmp_path)
    (tmp_path / "own.yaml").rename(tmp_path / "mine.yaml")
    with pytest.raises(UsageProblem, match=r"as in mine\.yaml"):
        load_profile("mine", own=tmp_path)


def test_rejections_with_a_clue_multiply_the_odds():
    odds = AuthorOdds(alpha=1, beta=1, first=4, further=0.5)
    assert [odds.lift(clues) for clues in (0, 1, 2, 3)] == [1, 4, 2, 1]
    assert odds.lift(5) == odds.lift(50)


def test_difficulties_are_evenly_spaced_quantiles():
    chances = difficulties(1.0, 1.0)
    assert len(chances) == DIFFICULTIES == 512
    assert chances[0] == pytest.approx(4.5 / 4096)  # The middle one of the first eight quantiles of 4096.
    assert chances[-1] == pytest.approx(4092.5 / 4096)
