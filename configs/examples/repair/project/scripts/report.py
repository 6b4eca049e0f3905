"""Writes report.txt: what the basket says is to be paid, for a few baskets."""

from pathlib import Path

from shop.basket import total

CASES = (([250, 199], 0), ([250, 199], 100), ([250], 400), ([], 50))


def main() -> None:
    """Write the report."""
    lines = [f"prices {prices}, voucher {voucher}: {total(prices, voucher)}" for prices, voucher in CASES]
    Path("report.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
