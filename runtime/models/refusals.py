"""The parameters that servers refuse, and how a call is sent again without them. Pure.

`configs/providers.yaml` lists these parameters. A parameter that the user has set is never changed: if the server
refuses it, the call fails.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.models.port import Fault, FaultKind

CACHE, STREAM = "prompt_cache", "stream"
"""Names that stand for several fields of a request: the fields of the prompt cache, and the fields of streams.
`Refusals` has a row for each of these names."""
WITHOUT = "without"
"""The value in `Ways` for a parameter that is left out of the request."""
DAY_SECONDS = 86_400.0
"""The time, in seconds, for which a server's refusal of a parameter is remembered. A day later, another server may
answer at the same address."""

_OTHER_CAUSES = frozenset({FaultKind.PROMPT_TOO_LONG, FaultKind.CONTENT_REFUSED})

Ways = Mapping[str, str]
"""For each changed parameter, the way in which it is sent to a server: another name, a weaker way, or `WITHOUT`."""


@dataclass(frozen=True, slots=True)
class Refusable:
    """A parameter that servers are known to refuse."""

    named: tuple[str, ...] = ()
    """The words by which error messages name the parameter, in lower case; empty if they use the parameter's own name.
    """
    instead: str = ""
    """The name under which the parameter is sent after a refusal; empty if the parameter is then omitted."""
    weaker: tuple[str, ...] = ()
    """The weaker ways to ask for a structured reply, the strongest first; empty if the parameter does not ask for a
    structured reply.
    """
    statuses: tuple[int, ...] = (400, 422)


Refusals = Mapping[str, Refusable]
"""The parameters of one interface that servers are known to refuse, by name."""


@dataclass
class Asking:
    """One call that may be sent repeatedly, each time in another way, until the server accepts it."""

    rows: Refusals
    """The parameters that can be changed after a refusal."""
    ways: dict[str, str]
    """For each changed parameter: the way in which it is sent now."""
    own: Collection[str] = ()
    """The names of the user's settings, which must not be changed, and the names under which they are sent."""
    refused: list[str] = field(default_factory=list)
    """The parameters and ways that the server has refused so far."""
    notices: list[str] = field(default_factory=list)
    """Notices for people about parameters that were changed after a refusal."""

    def shape(self, body: dict[str, Any]) -> dict[str, Any]:
        """Change the parameters of a body according to `ways`, and return the body.

        Parameters that the user has set are not changed.
        """
        for name, way in self.ways.items():
            row = self.rows.get(name)
            if row is None or row.weaker or name not in body or name in self.own:
                continue
            value = body.pop(name)
            if way != WITHOUT:
                body[way] = value
        return body

    def change_ways(self, fault: Fault, sent: Collection[str], mode: str) -> bool:
        """Change `ways` if a fault shows that the server refuses a parameter that can be sent in another way.

        Return whether the call can be sent again.

        `sent` has the names of the parameters in the request. `mode` is the way in which a structured reply was
        requested.
        """
        name = self._refused_by(fault, sent)
        if name is None or name in self.own:
            return False
        row = self.rows[name]
        way = row.instead or WITHOUT
        if row.weaker:
            place = row.weaker.index(mode) + 1 if mode in row.weaker else 0
            if place == len(row.weaker):
                return False
            way = row.weaker[place]
        self.refused.append(mode if row.weaker else name)
        if way in self.refused:
            return False
        if self.ways.get(way) == name:  # Another server answers at this address now, which knows the first name.
            del self.ways[way]
        else:
            self.ways[name] = way
        sent_now = "it is left out" if way == WITHOUT else f"{way} is sent instead"
        self.notices.append(f"the server refuses {self.refused[-1]}: {sent_now}")
        return True

    def _refused_by(self, fault: Fault, sent: Collection[str]) -> str | None:
        """Return the parameter that the text of a fault names first; None if it names no parameter of the request."""
        text = fault.message.lower()
        found: list[tuple[int, str]] = []
        for name, row in self.rows.items():
            if name in sent and fault.status in row.statuses and fault.kind not in _OTHER_CAUSES:
                found += [(place, name) for word in row.named or (name,) if (place := text.find(word)) >= 0]
        for name in self.own:
            if word := re.search(rf"(?<![\w-]){re.escape(name.lower())}(?![\w-])", text):
                found.append((word.start(), name))
        return min(found)[1] if found else None
