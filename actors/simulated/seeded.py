"""Chance without a state: every draw is a function of the words that name it, and of nothing that came before."""

import hashlib
import random
from collections.abc import Iterable, Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

K = TypeVar("K")
_NORMAL = NormalDist()
_LEAST = 2.0**-53


def digest(*words: object) -> bytes:
    """Return 32 bytes that the words alone decide."""
    return hashlib.sha256("\x1f".join(map(str, words)).encode(errors="replace")).digest()


def tag(*words: object) -> str:
    """Return six hexadecimal digits that the words alone decide."""
    return digest(*words).hex()[:6]


def draw(*words: object) -> float:
    """Return a number from 0 up to 1, uniform over words."""
    return (int.from_bytes(digest(*words)[:8], "big") >> 11) * _LEAST


def pick(shares: Mapping[K, float], *words: object) -> K:
    """Return one of the keys, with the probability of its share."""
    left = draw(*words) * sum(shares.values())
    for key, share in shares.items():
        left -= share
        if left < 0:
            return key
    return max(shares, key=lambda key: shares[key])


def normal(*words: object) -> float:
    """Return a number of the standard normal distribution."""
    return _NORMAL.inv_cdf(max(_LEAST, draw(*words)))


@lru_cache(maxsize=65_536)
def beta_draw(alpha: float, beta: float, words: tuple[object, ...]) -> float:
    """Return a number of a beta distribution, kept a little away from 0 and 1, where odds end."""
    value = random.Random(digest(*words)).betavariate(alpha, beta)  # noqa: S311 - a simulation, and no secret
    return min(max(value, 1e-12), 1 - 1e-12)


def odds(probability: float) -> float:
    """Return the odds of a probability below one."""
    return probability / (1 - probability) if probability < 1 else float("inf")


def probability(odds_of: float) -> float:
    """Return the probability of odds."""
    return odds_of / (1 + odds_of) if odds_of != float("inf") else 1.0


def count_in(word: str, texts: Iterable[str]) -> int:
    """Return how many of the texts hold the word."""
    return sum(1 for text in texts if word in text)
