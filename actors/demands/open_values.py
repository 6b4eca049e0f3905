"""Values that a demand leaves open: `TBD`, `to be decided`, `???`. Pure.

Whoever writes one says that the value is not known yet. No author can know it, so a person is asked.
"""

import re

from actors.demands.demand import Demand

_QUOTED = re.compile(r'`[^`]*`|"[^"]*"')
"""Names of a program and words of others: a placeholder in them is what the sentence is about."""
_OPEN = re.compile(
    r"(?<![\w.])(?:TBD|TBC|TBA|tbd)(?!\w)"
    r"|\b(?:still )?to be (?:decided|defined|determined|confirmed|agreed|specified|discussed)\b"
    r"|(?<!\S)\?{2,}(?!\w)"
)


def open_value(demand: Demand) -> str:
    """Return the words with which a demand leaves a value open; empty where it leaves none."""
    found = _OPEN.search(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), demand.quote))
    return found[0] if found else ""
