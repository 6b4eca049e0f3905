"""Whether a sentence asks for something by its own words, and how surely. Pure."""

import re
from enum import IntEnum
from functools import lru_cache

from actors.demands.facts import (
    BURDEN,
    BURDENED,
    CLAUSE,
    EXISTING,
    FACT,
    FAULTS,
    GREETING,
    GREETS,
    NARRATED,
    NOT_ASKED,
    NOW,
    PAST,
    TOLD_BY_OTHERS,
)
from actors.demands.instructions import instructs, states
from actors.demands.kinds import AVAILABLE, COSTS
from actors.demands.patterns import (
    AS_BEFORE,
    ASKS,
    AT_MOST,
    BY_DATE,
    CANNOT,
    CONTINUES,
    DATES,
    KEEPS_ON,
    LIMIT,
    LIMITS,
    NEEDLESS,
    NO_NOUN,
    ONLY,
    POLITE,
    REQUESTS,
    RESTRICTS,
    STAYS,
    STRICT,
    WISH,
    late,
    spelled,
)

NOTE_WORDS_MIN = 3
"""Words of a fragment that says what is wanted."""


_NEEDS = late(r"(?:also |and |so )?(?:i |we )?(?:still |also )?(?:need|want)\b")
_DECIDED = late(
    r"(?:\b(?:but|and|as) )?\bwe(?:'ve| have)?(?: all)? (?:said|agreed|decided|settled)(?: on| that)? (?!to\b|by\b)"
)
"""A decision of the writer's own: what follows holds."""
_HEAD = late(r"[(,;]")


class Force(IntEnum):
    """How surely a sentence asks for something."""

    NONE = 0
    WISH = 1
    """It does where the text tells what is wanted, and not in a description of what was."""
    STRICT = 2
    """It does wherever it stands outside of steps, logs and examples."""


@lru_cache(maxsize=1024)  # A sentence is judged in its list, in its paragraph and by itself.
def force_of(small: str) -> Force:
    """Return how surely a sentence of lower-case text asks for something by its own words."""
    small = _DECIDED.sub("", spelled(small))
    if ASKS.search(small):
        polite = (POLITE.search(small) or _NEEDS.match(small)) and not NOT_ASKED.search(small)
        return (
            Force.STRICT
            if polite and not re.match(r"(?:why|how|what|when|which|where|should)\b", small)
            else Force.NONE
        )
    if (small.endswith(":") and len(small) < 30) or GREETING.match(small):
        return Force.NONE
    without = NOT_ASKED.sub(" ", TOLD_BY_OTHERS.sub(" ", small))
    reported = without != small
    burdened = bool(BURDEN.search(without) and BURDENED.search(without))
    if burdened:
        without = BURDEN.sub(" ", without)
    if NARRATED.match(small) and not re.search(r"\b(?:must|please|shall)\b", without):
        return Force.NONE
    if STRICT.search(without) or CANNOT.search(without) or RESTRICTS.search(without):
        return Force.STRICT
    if reported:
        wanted = WISH.search(without) or NEEDLESS.search(without)
        return Force.WISH if wanted or instructs(without.strip(" ,;:")) else Force.NONE
    if instructs(small):
        return Force.STRICT
    if any(pattern.search(without) for pattern in (WISH, NEEDLESS, STAYS, REQUESTS, CONTINUES, AS_BEFORE)):
        return Force.WISH
    if FACT.search(small):
        return Force.NONE
    if (NO_NOUN.match(small) or ONLY.match(small)) and not states(_HEAD.split(small)[0]):
        return Force.WISH
    if NOW.search(small):
        return Force.NONE
    dated = BY_DATE.search(small) or DATES.search(small)
    if (dated or AT_MOST.search(small) or LIMITS.search(small)) and not PAST.search(small):
        return Force.WISH
    if LIMIT.search(small) and not CLAUSE.match(small) and not states(small) and not PAST.search(small):
        return Force.WISH
    if COSTS.search(small) and not PAST.search(small) and (not states(small) or AVAILABLE.search(small)):
        return Force.WISH
    return Force.NONE


def describes(small: str) -> bool:
    """Tell whether a sentence below a heading that asks for something only describes how things are, or were."""
    if ASKS.search(small) or GREETING.match(small):
        return True
    if STRICT.search(small) or WISH.search(small):
        return bool(NOT_ASKED.search(small)) and force_of(small) is Force.NONE
    return bool(
        NARRATED.match(small) or EXISTING.match(small) or PAST.search(CLAUSE.sub("", small)) or NOT_ASKED.search(small)
    ) and not instructs(small)


def is_modal(small: str) -> bool:
    """Tell whether a sentence asks for something with a modal verb or a polite word, and not by its form alone."""
    return not ASKS.search(small) and bool(STRICT.search(NOT_ASKED.sub(" ", small))) and not NARRATED.match(small)


def notes(small: str) -> bool:
    """Tell whether a fragment among demands in note form is one of them."""
    if (
        len(small.split()) < NOTE_WORDS_MIN
        or GREETS.match(small)
        or FAULTS.search(small)
        or FACT.search(small)
        or describes(small)
    ):
        return False
    return KEEPS_ON.search(small) is not None or not states(small)
