"""The tests of the basket; one of them fails."""

from shop.basket import total


def test_without_a_voucher_it_is_the_sum() -> None:
    """Prices are added."""
    assert total([250, 199]) == 449


def test_a_voucher_is_taken_off() -> None:
    """A voucher of less than the sum is taken off."""
    assert total([250, 199], voucher=100) == 349


def test_a_voucher_is_never_paid_out() -> None:
    """A voucher of more than the sum leaves nothing to pay."""
    assert total([250], voucher=400) == 0
