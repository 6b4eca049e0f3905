"""Random numbers without a state.

Each number is a hash of the words that the caller passes, so it does not depend on earlier numbers.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from statistics import NormalDist
from typing import TypeVar

K = TypeVar("K")
_NORMAL = NormalDist()
_LEAST = 2.0**-53
_PLASTIC = 1.32471795724474602596
_STEPS = (1 / _PLASTIC, 1 / _PLASTIC**2)
QUANTILES = 4096
"""The number of equal intervals into which `beta_quantile` divides the probabilities from 0 to 1."""
DIFFICULTIES = 512
"""The number of difficulties over which a curve is averaged. All of them are equally likely."""


def _digest(*words: object) -> bytes:
    return hashlib.sha256("\x1f".join(map(str, words)).encode(errors="replace")).digest()


def tag(*words: object) -> str:
    """Return the first six hexadecimal digits of a hash of the words."""
    return _digest(*words).hex()[:6]


def draw(*words: object) -> float:
    """Return a number in [0, 1), which the words determine.

    Over different words, the numbers are uniformly distributed.
    """
    return (int.from_bytes(_digest(*words)[:8], "big") >> 11) * _LEAST


def pick(shares: Mapping[K, float], *words: object) -> K:
    """Return one of the keys, which the words determine. Each key has a probability in proportion to its share."""
    return pick_at(shares, draw(*words))


def pick_at(shares: Mapping[K, float], at: float) -> K:
    """Return the key at a position from 0 to 1. The keys divide this interval in proportion to their shares."""
    left = at * sum(shares.values())
    for key, share in shares.items():
        left -= share
        if left < 0:
            return key
    return max(shares, key=lambda key: shares[key])


def normal(*words: object) -> float:
    """Return a number, which the words determine. Over different words, it has the standard normal distribution."""
    return _NORMAL.inv_cdf(max(_LEAST, draw(*words)))


def stratum(seed: int, position: int, *words: object) -> float:
    """Return a number in [0, 1). Consecutive seeds spread it evenly over this interval.

    The number is the coordinate `position` (0 or 1) of Roberts's two-dimensional Kronecker sequence, shifted by a
    number that the words determine. Points of both coordinates at consecutive seeds are spread evenly over the square.
    """
    return (draw(*words, "stratum", position) + seed * _STEPS[position]) % 1.0


@lru_cache(maxsize=256)
def difficulties(alpha: float, beta: float) -> tuple[float, ...]:
    """Return `DIFFICULTIES` quantiles of a beta distribution, evenly spaced in probability."""
    width = QUANTILES // DIFFICULTIES
    return tuple(beta_quantile(alpha, beta, width * number + width // 2) for number in range(DIFFICULTIES))


@lru_cache(maxsize=65_536)
def beta_quantile(alpha: float, beta: float, index: int) -> float:
    """Return the quantile of a beta distribution for one probability.

    This probability is the middle of interval `index`: `QUANTILES` equal intervals divide the range from 0 to 1. The
    quantile is at least 1e-12 away from 0 and 1, so its odds are finite. It is found by Newton's method on the
    log-odds, within bounds that enclose it.
    """
    share = (index + 0.5) / QUANTILES
    low, high, at = -30.0, 30.0, 0.0
    for _ in range(80):
        x = 1 / (1 + math.exp(-at))
        below = _beta_cdf(alpha, beta, x) - share
        low, high = (low, at) if below > 0 else (at, high)
        slope = math.exp(alpha * math.log(x) + beta * math.log1p(-x) - _log_beta(alpha, beta))
        step = at - below / slope if slope > 1e-300 else at
        step = step if low < step < high else (low + high) / 2
        if abs(step - at) < 1e-11:
            break
        at = step
    return min(max(round(1 / (1 + math.exp(-at)), 12), 1e-12), 1 - 1e-12)


def _beta_cdf(alpha: float, beta: float, x: float) -> float:
    """Return the cumulative distribution function of a beta distribution at x, by Lentz's continued fraction."""
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (alpha + 1) / (alpha + beta + 2):
        return 1 - _beta_cdf(beta, alpha, 1 - x)
    front = math.exp(alpha * math.log(x) + beta * math.log1p(-x) - _log_beta(alpha, beta)) / alpha
    fraction, above, below = 1.0, 1.0, 0.0
    for term in range(400):
        half = term // 2
        if term == 0:
            number = 1.0
        elif term % 2 == 0:
            number = half * (beta - half) * x / ((alpha + 2 * half - 1) * (alpha + 2 * half))
        else:
            number = -(alpha + half) * (alpha + beta + half) * x / ((alpha + 2 * half) * (alpha + 2 * half + 1))
        below = 1 / _away_from_zero(1 + number * below)
        above = _away_from_zero(1 + number / above)
        fraction *= above * below
        if term and abs(1 - above * below) < 1e-13:
            break
    return front * (fraction - 1)


def _away_from_zero(value: float) -> float:
    return value if abs(value) > 1e-300 else 1e-300


def _log_beta(alpha: float, beta: float) -> float:
    return math.lgamma(alpha) + math.lgamma(beta) - math.lgamma(alpha + beta)


def odds(probability: float) -> float:
    """Return the odds of a probability; infinity for 1."""
    return probability / (1 - probability) if probability < 1 else float("inf")


def probability(ratio: float) -> float:
    """Return the probability that has these odds."""
    return ratio / (1 + ratio) if ratio != float("inf") else 1.0


def count_in(word: str, texts: Iterable[str]) -> int:
    """Return how many of the texts contain the word."""
    return sum(1 for text in texts if word in text)
