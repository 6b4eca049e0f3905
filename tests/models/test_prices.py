"""What a token costs, and that unknown is never zero."""

import pytest
from pydantic import ValidationError

from actors.config.model_spec import Named, ReplaySpec, RulesSpec, Scripted, SimulatedSpec
from replan.setup.settings import price_of
from runtime.core.ledger import FREE, Price
from runtime.models.prices import find_price

AT = 1_790_000_000.0


def test_a_listed_model_has_a_price():
    """The list that is shipped knows OpenAI's models, and says so."""
    price = find_price("gpt-4o", at=AT)
    assert price is not None
    assert price.input_per_token_usd == pytest.approx(2.5e-6)
    assert price.output_per_token_usd == pytest.approx(1e-5)
    assert price.source.startswith("genai-prices ")
    assert price.source.endswith("openai/gpt-4o")


def test_the_price_is_the_providers():
    """The same name costs differently elsewhere, and nobody knows what it costs at home."""
    assert find_price("gpt-4o", base_url="http://127.0.0.1:8000/v1", at=AT) is None
    assert find_price("deepseek-chat", at=AT) is None
    assert find_price("deepseek-chat", base_url="https://api.deepseek.com", at=AT) is not None


def test_the_day_counts():
    """Prices change; the day of the run decides."""
    before, after = find_price("o3", at=1_745_000_000.0), find_price("o3", at=AT)
    assert before is not None
    assert after is not None
    assert before.input_per_token_usd > after.input_per_token_usd


def test_the_dearest_hour_of_the_day_counts():
    """DeepSeek halves its prices at night; a run may go on into the morning."""
    day = 1_790_035_200.0  # midnight, UTC
    prices = [
        find_price("deepseek-chat", base_url="https://api.deepseek.com", at=day + 3600 * hour) for hour in (1, 20)
    ]
    assert prices[0] is not None
    assert prices[0] == prices[1]
    assert prices[0].input_per_token_usd == pytest.approx(2.7e-7)


def test_tiers_for_very_long_prompts_do_not_count():
    """A price that holds from 272,000 tokens on would double every bill."""
    price = find_price("gpt-5.4", at=AT)
    assert price is not None
    assert price.input_per_token_usd == pytest.approx(2.5e-6)


def test_an_unknown_model_has_no_price():
    """Unknown is None, which nobody can mistake for free."""
    assert find_price("my-own-model", at=AT) is None
    assert price_of(Named("my-own-model"), at=AT) is None


def test_the_users_own_table_goes_first():
    """A negotiated price beats the list."""
    own = Price(input_per_token_usd=1e-6, output_per_token_usd=2e-6, source="config.yaml")
    assert find_price("gpt-4o", own={"gpt-4o": own}, at=AT) is own
    assert price_of(Named("mine"), base_url="http://localhost:1", own={"mine": own}, at=AT) is own


@pytest.mark.parametrize("spec", [RulesSpec(), SimulatedSpec("typical"), Scripted("f"), ReplaySpec("r")])
def test_what_runs_here_is_free(spec):
    """No provider, no bill."""
    assert price_of(spec, at=AT) == FREE
    assert FREE.micro_usd(9, 9) == 0


def test_what_a_call_costs_and_can_cost():
    """A reservation takes every byte for a token, and the output for its cap."""
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=4e-6, source="test")
    assert price.micro_usd(1000, 100) == 1400
    assert price.micro_usd(4000, 500) == 6000


@pytest.mark.parametrize("bad", [-1.0, float("inf"), float("nan")])
def test_a_price_is_a_finite_amount(bad):
    """A negative price would earn budget."""
    with pytest.raises(ValidationError):
        Price(input_per_token_usd=bad, output_per_token_usd=0, source="test")
