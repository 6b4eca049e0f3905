"""Where a quote stands in a passage."""

import pytest

from actors.acquisition.observation import PLACES_MAX, quote_places


@pytest.mark.parametrize("count", [0, 1, PLACES_MAX, PLACES_MAX + 5])
def test_a_quote_is_looked_at_where_it_stands_first_and_at_a_limited_number_of_places(count):
    assert quote_places("12 EUR " * count, "eur") == tuple((7 * at + 3, 7 * at + 6) for at in range(count))[:PLACES_MAX]
