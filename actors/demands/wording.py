"""Whether a sentence asks for something by its own words, and how surely. Pure."""

import re
from enum import IntEnum

from actors.demands.instructions import follows_lead_in, instructs, states
from actors.demands.kinds import COSTS
from actors.demands.patterns import (
    ASKS,
    BURDEN,
    BURDENED,
    BY_DATE,
    CANNOT,
    LIMIT,
    NARRATED,
    NEEDLESS,
    NO_NOUN,
    NOT_ASKED,
    ONLY,
    PAST,
    POLITE,
    STAYS,
    STRICT,
    WISH,
)


class Force(IntEnum):
    """How surely a sentence asks for something."""

    NONE = 0
    WISH = 1
    """It does where the text tells what is wanted, and not in a description of what was."""
    STRICT = 2
    """It does wherever it stands outside of steps, logs and examples."""


def force_of(small: str) -> Force:
    """Return how surely a sentence of lower-case text asks for something by its own words."""
    if ASKS.search(small):
        polite = POLITE.search(small) and not NOT_ASKED.search(small)
        return (
            Force.STRICT if polite and not re.search(r"\b(?:why|how come|what|should we)\b", small[:60]) else Force.NONE
        )
    if small.endswith(":") and len(small) < 30:
        return Force.NONE
    without = NOT_ASKED.sub(" ", small)
    reported = without != small
    burdened = bool(BURDEN.search(without) and BURDENED.search(without))
    if burdened:
        without = BURDEN.sub(" ", without)
    if NARRATED.match(small) and not re.search(r"\b(?:must|please|shall)\b", without):
        return Force.NONE
    if STRICT.search(without) or CANNOT.search(without):
        return Force.STRICT
    if reported:
        return Force.WISH if WISH.search(without) or follows_lead_in(without) else Force.NONE
    if instructs(small):
        return Force.STRICT
    if WISH.search(without) or NEEDLESS.search(without) or STAYS.search(without):
        return Force.WISH
    if (NO_NOUN.match(small) or ONLY.match(small)) and not states(small):
        return Force.WISH
    if BY_DATE.search(small) and not PAST.search(small):
        return Force.WISH
    if LIMIT.search(small) and not states(small) and not PAST.search(small):
        return Force.WISH
    if (
        COSTS.search(small)
        and not PAST.search(small)
        and (not states(small) or re.search(r"\bbudget\b|\bwe (?:only )?have\b", small))
    ):
        return Force.WISH
    return Force.NONE


def describes(small: str) -> bool:
    """Tell whether a sentence below a heading that asks for something only describes how things are, or were."""
    if ASKS.search(small):
        return True
    if STRICT.search(small) or WISH.search(small):
        return bool(NOT_ASKED.search(small)) and force_of(small) is Force.NONE
    return bool(NARRATED.match(small) or PAST.search(small) or NOT_ASKED.search(small)) and not instructs(small)


def proposes(small: str) -> bool:
    """Tell whether a sentence in a proposal says what will be."""
    return bool(
        re.search(r"\b(?:will|won't|propose|suggest|we'll|becomes?|replaces?|gets?|is replaced|are replaced)\b", small)
    ) and not PAST.search(small)
