"""The tests of the basket; one of them fails."""

import unittest

from shop.basket import total


class TotalTest(unittest.TestCase):
    """What is to be paid for a basket."""

    def test_without_a_voucher_it_is_the_sum(self) -> None:
        """Prices are added."""
        self.assertEqual(total([250, 199]), 449)

    def test_a_voucher_is_taken_off(self) -> None:
        """A voucher of less than the sum is taken off."""
        self.assertEqual(total([250, 199], voucher=100), 349)

    def test_a_voucher_is_never_paid_out(self) -> None:
        """A voucher of more than the sum leaves nothing to pay."""
        self.assertEqual(total([250], voucher=400), 0)


if __name__ == "__main__":
    unittest.main()
