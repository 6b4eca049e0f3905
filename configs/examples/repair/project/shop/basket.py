"""What a basket costs."""


def total(prices: list[int], voucher: int = 0) -> int:
    """Return what is to be paid, in cents: all prices less a voucher; a voucher is never paid out."""
    return sum(prices) - voucher
