"""The usage of a call and its cost: reported tokens, and prices per token. Pure."""

import math

from pydantic import Field

from runtime.core.events import Value

MICRO = 1_000_000
"""Micro-dollars in a dollar. Money is counted in whole micro-dollars, so that sums are exact."""

MTOK = 1_000_000
"""The number of tokens that price lists quote prices for."""


class Usage(Value):
    """The tokens of one call, as the provider reports them."""

    input_tokens: int = 0
    """Tokens of the prompt."""
    output_tokens: int = 0
    """Tokens that the model wrote."""

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


def micro_limit(usd: float) -> int:
    """Return a limit in dollars as whole micro-dollars, rounded down, but at least 1."""
    return max(1, int(usd * MICRO))


class Price(Value):
    """US dollars per token, and the source of the numbers.

    Where a price depends on tiers or on the time of day, the highest one is used, so that a reservation is never too
    small.
    """

    input_per_token_usd: float = Field(ge=0, allow_inf_nan=False)
    """Dollars for one token of the prompt."""
    output_per_token_usd: float = Field(ge=0, allow_inf_nan=False)
    """Dollars for one token of the reply."""
    source: str = ""
    """Where the numbers come from, such as the name of a price list; may be empty."""

    @classmethod
    def per_mtok(cls, input_usd: float, output_usd: float, source: str) -> "Price":
        """Return a price from dollars per million tokens, as lists quote it."""
        return cls(input_per_token_usd=input_usd / MTOK, output_per_token_usd=output_usd / MTOK, source=source)

    def micro_usd(self, input_tokens: int, output_tokens: int) -> int:
        """Return the price of a call in whole micro-dollars, rounded up."""
        usd = input_tokens * self.input_per_token_usd + output_tokens * self.output_per_token_usd
        return math.ceil(round(usd * MICRO, 6))


FREE = Price(input_per_token_usd=0, output_per_token_usd=0, source="runs in this process")
