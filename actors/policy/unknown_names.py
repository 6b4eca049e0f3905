"""Names in a policy that nothing built in has: codes, families and roles. A plug-in may have them.

Pure. Tags are a closed set, which the file's own check knows.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from actors.policy.table import Policy
from actors.values.findings import Code
from runtime.models.replies import ReplyCode

ROLES = ("analysis", "recon", "strategy", "plan", "critique")
"""The roles of the shipped workflows; a workflow may have its own."""
_NEAR = 0.82
"""How alike two names must be for the one to be taken as the other, misspelt."""
_CODES = tuple(str(code) for code in (*ReplyCode, *Code))
_FAMILIES = tuple(dict.fromkeys(f"{code.partition('.')[0]}.*" for code in _CODES))


@dataclass(frozen=True, slots=True)
class UnknownName:
    """A name in a row that nothing built in has."""

    path: tuple[str | int, ...]
    """The place of the name in the file."""
    row: str
    """The id of the row that has the name."""
    what: str
    """What it names, such as `code 'plan.cicle'`."""
    near: str
    """The known name that it is probably meant to be; empty where none is near."""


def unknown_names(policy: Policy, roles: Collection[str] = ROLES) -> Iterator[UnknownName]:
    """Yield every unknown code, family and role of a policy, in the order of its rows; `roles` are the known ones."""
    for index, row in enumerate(policy.rows):
        for place, code in enumerate(row.codes):
            known = _FAMILIES if code.endswith(".*") else _CODES
            if code not in known:
                yield UnknownName(("rows", index, "codes", place), row.id, f"code {code!r}", _near(code, known))
        words = row.target.split()
        if words[0] == "role" and words[1] not in roles:
            near = _near(words[1], roles)
            yield UnknownName(("rows", index, "target"), row.id, f"role {words[1]!r}", near)


def _near(name: str, known: Collection[str]) -> str:
    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=_NEAR)), "")
