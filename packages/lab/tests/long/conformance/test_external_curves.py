"""The odds of the base profile are those of the published curve that it names."""

from replan_lab.experiments.likelihood import InstanceResult, odds_of, posterior_mode
from replan_lab.simulated.profile import load_profile
from tests.support.external import cases


def test_the_base_profile_has_the_most_probable_odds_of_its_curve():
    """GPT-4 on 50 Blocksworld instances: the call that solved an instance, or its last call."""
    lines = cases("curves/planbench_gpt4_backprompt.jsonl")
    records = [InstanceResult(line["llm_calls"], line["solved"]) for line in lines if line["domain"] == "blocksworld"]
    assert len(records) == 50
    fitted, base = odds_of(posterior_mode(records)).model_dump(), load_profile("base").odds.model_dump()
    assert all(abs(fitted[name] / base[name] - 1) < 0.05 for name in base)
