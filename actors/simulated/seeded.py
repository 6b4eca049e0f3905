"""Random numbers without a state: each is a function of the words that name it, independent of earlier draws."""

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
    """Return the SHA-256 of the words."""
    return hashlib.sha256("\x1f".join(map(str, words)).encode(errors="replace")).digest()


def tag(*words: object) -> str:
    """Return the first six hexadecimal digits of the words' hash."""
    return digest(*words).hex()[:6]


def draw(*words: object) -> float:
    """Return a number of the uniform distribution on [0, 1)."""
    return (int.from_bytes(digest(*words)[:8], "big") >> 11) * _LEAST


def pick(shares: Mapping[K, float], *words: object) -> K:
    """Return a key, with the probability of its share; shares need not add up to 1."""
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
    """Return a number of a beta distribution, at least 1e-12 away from 0 and 1, so that its odds are finite."""
    value = random.Random(digest(*words)).betavariate(alpha, beta)  # noqa: S311 - a simulation, and no secret
    return min(max(value, 1e-12), 1 - 1e-12)


def odds(probability: float) -> float:
    """Return the odds of a probability; infinity for 1."""
    return probability / (1 - probability) if probability < 1 else float("inf")


def probability(ratio: float) -> float:
    """Return the probability that has these odds."""
    return ratio / (1 + ratio) if ratio != float("inf") else 1.0


def count_in(word: str, texts: Iterable[str]) -> int:
    """Return how many of the texts contain the word."""
    return sum(1 for text in texts if word in text)
