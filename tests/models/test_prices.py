"""What a token costs, and that unknown is never zero."""

import os
import random

import pytest
from pydantic import ValidationError

from actors.config.model_spec import (
    Named,
    ReplaySpec,
    Scripted,
    TemplateSpec,
    parse_model_spec,
)
from replan.setup.settings import PriceEntry, price_of
from runtime.core.ledger import FREE, Price, Usage
from runtime.models.prices import find_price
from tests.models.price_list import compare_with_list

AT = 1_790_000_000.0
USAGES = int(os.environ.get("REPLAN_PRICES", "4000"))
"""The random usages that are priced; `make soak` prices a million."""


def test_a_listed_model_has_a_price():
    price = find_price("gpt-4o", at=AT)
    assert price is not None
    assert price.input_per_token_usd == pytest.approx(2.5e-6)
    assert price.output_per_token_usd == pytest.approx(1e-5)
    assert price.source.startswith("genai-prices ")
    assert price.source.endswith("openai/gpt-4o")


def test_the_price_is_the_providers():
    assert find_price("gpt-4o", base_url="http://127.0.0.1:8000/v1", at=AT) is None
    assert find_price("deepseek-chat", at=AT) is None
    assert find_price("deepseek-chat", base_url="https://api.deepseek.com", at=AT) is not None


def test_the_day_counts():
    before, after = find_price("o3", at=1_745_000_000.0), find_price("o3", at=AT)
    assert before is not None
    assert after is not None
    assert before.input_per_token_usd > after.input_per_token_usd


def test_the_dearest_hour_of_the_day_counts():
    day = 1_790_035_200.0  # midnight, UTC
    prices = [
        find_price("deepseek-chat", base_url="https://api.deepseek.com", at=day + 3600 * hour) for hour in (1, 20)
    ]
    assert prices[0] is not None
    assert prices[0] == prices[1]
    assert prices[0].input_per_token_usd == pytest.approx(2.7e-7)


def test_a_tier_counts_for_prompts_that_reach_it():
    """A price that holds above 272,000 tokens must not double every bill, and is not forgotten for long prompts."""
    price = find_price("gpt-5.4", at=AT)
    assert price is not None
    assert price.input_per_token_usd == pytest.approx(2.5e-6)
    assert [tier.above for tier in price.tiers] == [272_000]
    costs = [price.micro_usd(Usage(input_tokens=tokens)) / tokens for tokens in (272_000, 272_001)]
    assert costs == pytest.approx([2.5, 5.0])


def test_cached_input_costs_what_the_list_says():
    """A read costs a tenth, a write 1.25 times, for an hour twice the input; a reservation takes the dearest."""
    price = find_price("claude-sonnet-4-5", base_url="https://api.anthropic.com", at=AT)
    assert price is not None
    usage = Usage(input_tokens=1000, cache_read_tokens=500, cache_write_tokens=300, cache_write_1h_tokens=100)
    assert price.micro_usd(usage) == 200 * 3 + 500 * 0.3 + 200 * 3.75 + 100 * 6
    assert price.micro_usd_at_most(1000, 10) == 1000 * 6 + 10 * 15
    assert price.cache_saving_usd(1_000_000) == pytest.approx(2.7)
    assert price.micro_usd(Usage(input_tokens=1000, contradictory=True)) == 6000


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("sonar-deep-research", "https://api.perplexity.ai"),
        ("sonar-pro-search", "https://api.perplexity.ai"),
        ("gpt-4o-search-preview", None),
        ("o4-mini-deep-research", None),
    ],
)
def test_a_model_that_bills_its_searches_has_no_price(name, server):
    assert find_price(name, base_url=server, at=AT) is None


def test_a_fee_for_each_request_covers_its_searches():
    price = find_price("sonar", base_url="https://api.perplexity.ai", at=AT)
    assert price is not None
    assert price.micro_usd_at_most(0, 0) == 12_000


def test_a_name_that_only_contains_such_a_word_has_a_price():
    assert find_price("nousresearch/hermes-4-70b", base_url="https://openrouter.ai/api/v1", at=AT) is not None


def test_costs_are_those_of_the_price_list():
    """Over all clients no usage is misread, no reservation is too small, and no cost differs from the list's own."""
    counted = compare_with_list(random.Random(1), USAGES)
    assert counted.models > 1500
    assert (counted.misread, counted.under_reserved, counted.different) == ([], [], [])
    assert counted.dearer_by_hour < counted.usages / 100


def test_a_price_of_ones_own_may_have_cache_rates():
    entry = PriceEntry(input_usd_per_mtok=1, output_usd_per_mtok=2, cache_read_usd_per_mtok=0.1)
    usage = Usage(input_tokens=100, cache_read_tokens=50, cache_write_tokens=50)
    assert entry.price("config.yaml").micro_usd(usage) == 5 + 50


def test_an_unknown_model_has_no_price():
    assert find_price("my-own-model", at=AT) is None
    assert price_of(Named("my-own-model"), at=AT) is None


def test_the_users_own_table_goes_first():
    own = Price(input_per_token_usd=1e-6, output_per_token_usd=2e-6, source="config.yaml")
    assert find_price("gpt-4o", own={"gpt-4o": own}, at=AT) is own
    assert price_of(Named("mine"), base_url="http://localhost:1", own={"mine": own}, at=AT) is own


@pytest.mark.parametrize("spec", [TemplateSpec("bug"), Scripted("f"), ReplaySpec("r")])
def test_what_runs_here_is_free(spec):
    assert price_of(spec, at=AT) == FREE
    assert FREE.micro_usd_at_most(9, 9) == 0


def test_what_a_call_costs_and_can_cost():
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=4e-6, source="test")
    assert price.micro_usd(Usage(input_tokens=1000, output_tokens=100)) == 1400
    assert price.micro_usd_at_most(4000, 500) == 6000


@pytest.mark.parametrize("bad", [-1.0, float("inf"), float("nan")])
def test_a_price_is_a_finite_amount(bad):
    with pytest.raises(ValidationError):
        Price(input_per_token_usd=bad, output_per_token_usd=0, source="test")


def test_the_price_of_a_model_of_anthropic_is_that_of_its_own_list_unless_the_user_has_one_for_its_whole_name():
    spec = parse_model_spec("anthropic:claude-haiku-4-5")
    listed, mine = price_of(spec, at=AT), Price.per_mtok(1.0, 2.0, "mine")
    assert listed is not None
    assert listed.source.endswith("anthropic/claude-haiku-4-5")
    assert listed.usd(Usage(input_tokens=1000, cache_write_tokens=1000, cache_write_1h_tokens=1000)) == 0.002
    assert price_of(spec, own={"anthropic:claude-haiku-4-5": mine}, at=AT) == mine
    assert price_of(spec, own={"claude-haiku-4-5": mine}, at=AT) == listed
    assert price_of(spec, base_url="https://gateway.example.org", at=AT) is None
