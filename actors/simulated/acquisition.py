"""The simulated author in acquisition runs: the replies of the rules, of which a known share is wrong. Pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from actors.rules.acquisition import AUTHORS, acquisition_reply
from actors.simulated.profile import Profile
from actors.simulated.seeded import draw

ROLES = frozenset(AUTHORS)
"""The roles that this author plays."""


def acquisition_text(profile: Profile, key: str, node: str, material: Mapping[str, Any]) -> str:
    """Return the reply to a call; `key` and `node` are what its chances are drawn by."""
    role = str(material["role"])
    text = acquisition_reply(role, material)
    if draw(key, node, "acquisition") >= profile.acquisition_errors:
        return text
    return orjson.dumps(_wrong(role, orjson.loads(text), draw(key, node, "error"))).decode()


def _wrong(role: str, reply: dict[str, Any], chance: float) -> dict[str, Any]:
    """Return a reply with one of the mistakes that models make in a role, by a chance from 0 to 1."""
    first = chance < 0.5
    match role:
        case "acquisition_plan":
            unknown = {**reply, "action": "search", "target_field": "no.such.field", "query": "anything"}
            return unknown if first else {**reply, "action": "reflect", "target_field": ""}
        case "acquisition_observe":
            invented = [{**value, "quote": "Everybody knows this."} for value in reply["values"]]
            altered = [{**value, "value": "123,456,789"} for value in reply["values"]]
            return {"values": invented if first else altered}
        case "acquisition_reflect":
            return {**reply, "finish": False} if first else {"assessment": "as simulated"}
        case _:
            return {"formula": "a * b", "fields": [{"name": "a", "label": "as simulated", "unit": "parsec"}]}
