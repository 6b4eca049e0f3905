"""The seller, a program of its own: it enters each offer in its books, and answers with a price."""

import os
import sys
import time
from pathlib import Path

LOWEST = 70


def main():
    """Enter the offer, think, and print the price: the offer where it is high enough."""
    offer, books = int(sys.argv[1]), Path(os.environ["SELLER_BOOKS"])
    with books.open("a") as pages:
        pages.write(f"{offer}\n")
    time.sleep(float(os.environ["SELLER_SECONDS"]))
    sys.stdout.write(str(offer if offer >= LOWEST else LOWEST + 20))


if __name__ == "__main__":
    main()
