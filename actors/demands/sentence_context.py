"""Whether a sentence, or the items of a list, ask for something where they stand. Pure."""

import re
from typing import assert_never

from actors.demands.blocks import Form
from actors.demands.force import Force, describes, force_of, is_modal, notes
from actors.demands.headings import Role
from actors.demands.statements import Surroundings, rules, shall_be, tells

LABEL = re.compile(
    r"^[*_]{0,2}(?P<label>[A-Za-z][\w '/&-]{1,40}?)[*_]{0,2}(?P<colon>:| - | \u2013 | \u2014 )[*_]{0,2} *(?=\S)"
)
"""A name at the beginning of a sentence: "Window: Sunday"."""
UI = re.compile(
    r"^(?:then )?(?:open|click|go to|log in|login|sign in|see|observe|scroll|type|press|navigate|select"
    r"|choose|enter|wait|start|visit|launch|run|create a|upload a|reload|refresh|notice|tap|hit|switch to"
    r"|close|have a)\b"
)
"""An item about what somebody does with a program."""
VERSION = re.compile(r"^\W*[a-z][\w .+/-]{1,30}[ :=]+v?\d+(?:\.\d+)+|^\W*\w[\w ]{0,20}: ?\S+$")
"""An item about an environment, such as "Debian 12.1" or "arch: arm64"."""


def without_label(small: str) -> str:
    """Return a sentence without the name at its beginning."""
    label = LABEL.match(small)
    return small[label.end() :] if label else small


def standing_force(small: str) -> Force:
    """Return how surely a sentence, or what follows its label, asks for something."""
    return max(force_of(small), force_of(without_label(small)))


def is_asked(role: Role, form: Form, small: str, force: Force) -> bool:
    """Tell whether a sentence is a demand where it stands."""
    match role:
        case Role.ASKED:
            return force is not Force.NONE or (form is not Form.CELL and not describes(small))
        case Role.LISTED:
            return force is not Force.NONE or notes(small) or shall_be(small, small, Surroundings(asking=True))
        case Role.OBSERVED:
            return form is Form.PROSE and is_modal(small)
        case Role.TOLD:
            return force is Force.STRICT
        case Role.NEUTRAL:
            return force is Force.STRICT or (force is Force.WISH and form is not Form.CELL)
        case Role.SILENT:
            return False
    assert_never(role)


def specifies(every: list[str]) -> bool:
    """Tell whether the items of a list, or the sentences below a mere name, say how something is to be.

    They are judged together: some ask or have the form of a rule, and none tells how things are.
    """
    asking = sum(standing_force(small) is not Force.NONE or rules(small) for small in every)
    told = sum(standing_force(small) is Force.NONE and (tells(small) or describes(small)) for small in every)
    return len(every) > 1 and not told and 2 * asking >= len(every)
