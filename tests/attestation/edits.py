"""Edits of attestations, each from one number. An edit returns the bytes of a file, or None where it does not apply."""

import copy
import json

from replan.runs.attestation import signed
from tests.attestation.simulated_runs import KEY, OTHER_KEY, rebuilt


def a_byte(dice, made):
    """Another byte at any place of the file."""
    data = bytearray(signed(made, KEY))
    place = dice.randrange(len(data))
    data[place] ^= dice.randrange(1, 256)
    return bytes(data)


def bytes_left_out(dice, made):
    """Some bytes less, or some more."""
    data = signed(made, KEY)
    place, count = dice.randrange(len(data)), dice.randrange(1, 40)
    return data[:place] + data[place + count :] if dice.random() < 0.5 else data[:place] + b" " * count + data[place:]


CHANGES = (
    *("left out", "twice", "swapped", "at", "epoch", "inbox", "body", "hash", "root", "anchor", "text"),
    *("summary", "kind", "run", "outcome", "message", "extra", "made"),
)
"""What `not_rebuilt` may change."""


def not_rebuilt(dice, made):
    """A change of a record, a text, a message, the root, the anchor or the summary; only the signature is right."""
    part = made["runs"][0]
    rows = part["records"]
    place = dice.randrange(len(rows))
    row = rows[place]
    what = dice.choice(CHANGES)
    match what:
        case "left out":
            del rows[place]
        case "twice":
            rows.insert(place, row)
        case "swapped" if len(rows) > 1:
            other = (place + 1) % len(rows)
            rows[place], rows[other] = rows[other], rows[place]
        case "at":
            row["at"] += dice.choice([-3600.0, -1e-6, 1e-6, 86_400.0])
        case "epoch":
            row["epoch"] += 1
        case "inbox":
            row["inbox"] = 1 if row["inbox"] is None else None
        case "body":
            row["body"] = row["body"].replace(":", ": ", 1)
        case "hash":
            row["hash"] = row["hash"][::-1]
        case "root":
            part["merkle_root"] = part["merkle_root"][::-1]
        case "anchor":
            part["anchor"]["seq"] += 1
        case "text":
            digest = dice.choice(sorted(made["texts"]))
            made["texts"][digest] += " "
        case "summary":
            part["summary"]["committed"][dice.choice(["calls", "tokens", "micro_usd"])] += dice.choice([-1, 1])
        case "kind" | "run" | "outcome":
            part[what] += "x"
        case "message" if part["messages"]:
            dice.choice(part["messages"])["body"] += " "
        case "extra":
            row["more"] = None
        case "made":
            made["made"] = part["created"] - 60.0
        case _:
            return None
    return signed(made, KEY)


def by_another_key(dice, made):
    """Any change of a record, with the chain rebuilt from there, and signed with another key."""
    rows = made["runs"][0]["records"]
    row = dice.choice(rows)
    if dice.random() < 0.5 and len(rows) > 1:
        rows.remove(row)
    else:
        row["at"] += 0.25
    return signed(rebuilt(made), OTHER_KEY)


def by_its_owner(dice, made):
    """A lie about the budget, a decision, a verdict or the order, rebuilt and signed with the right key."""
    lie = dice.choice(LIES)
    rows = made["runs"][0]["records"]
    events = [json.loads(row["body"]) for row in rows]
    if not lie(dice, made["runs"][0], rows, events):
        return None
    for row, event in zip(rows, events, strict=True):
        row["body"] = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    return signed(rebuilt(made), KEY)


def _places(events, *kinds, where=lambda _: True):
    return [place for place, event in enumerate(events) if event["kind"] in kinds and where(event)]


def _drop(part, rows, events, place):
    del rows[place]
    del events[place]
    _renumber_plans(part, place, -1)
    return True


def _renumber_plans(part, place, by):
    """Keep the summary in step with records that were left out or added, as a careful liar would."""
    for each in part["summary"]["plans"]:
        each["seq"] += by if each["seq"] > place + 1 else 0


def request_left_out(dice, part, rows, events):
    """The reply to a request that nobody made."""
    replied = {event["request_id"] for event in events if "content" in event and "request_id" in event}
    places = [place for place, event in enumerate(events) if "prompt_hash" in event and event["node"] in replied]
    return bool(places) and _drop(part, rows, events, dice.choice(places))


def reply_twice(dice, part, rows, events):
    """One reply booked twice."""
    places = [place for place, event in enumerate(events) if "content" in event and "request_id" in event]
    if not places:
        return False
    place = dice.choice(places)
    rows.insert(place + 1, copy.deepcopy(rows[place]))
    events.insert(place + 1, copy.deepcopy(events[place]))
    _renumber_plans(part, place, 1)
    return True


def over_the_limit(dice, part, rows, events):
    """A request for more calls than are left."""
    places = [place for place, event in enumerate(events) if "prompt_hash" in event]
    if not places:
        return False
    events[dice.choice(places)]["calls"] = 10_000
    return True


def lower_limit(dice, part, rows, events):
    """A limit that the requests do not keep, also in the summary."""
    most = part["summary"]["committed"]["calls"]
    if most < 2 or _places(events, "settings_changed", "settled", "generation_failed"):
        return False
    events[0]["limits"]["calls"] = part["summary"]["limits"]["calls"] = most - 1
    return True


def negative_usage(dice, part, rows, events):
    """A reply that gives money back."""
    places = [place for place, event in enumerate(events) if "content" in event and "request_id" in event]
    if not places:
        return False
    events[dice.choice(places)]["micro_usd"] = -1
    return True


def another_sum(dice, part, rows, events):
    """A smaller sum in the summary."""
    part["summary"]["committed"]["calls"] -= 1
    return True


def guard_not_asked(dice, part, rows, events):
    """A verdict of a guard that nobody asked."""
    nodes = {event["node"] for event in events if event["kind"] == "verdict_reached"}
    places = _places(events, "judgement_requested", where=lambda event: event["node"] in nodes)
    return bool(places) and _drop(part, rows, events, dice.choice(places))


def nothing_cleared(dice, part, rows, events):
    """A decision to go back that clears nothing."""
    places = [
        place
        for place in _places(events[:-1], "revised")
        if str(events[place - 1].get("level")).endswith("replan")
        and events[place + 1]["kind"] == "generation_requested"
    ]
    return bool(places) and _drop(part, rows, events, dice.choice(places))


def another_rule(dice, part, rows, events):
    """A decision by a rule that does not match first."""
    places = _places(events, "decided", where=lambda event: not event.get("classified"))
    if not places:
        return False
    events[dice.choice(places)]["rule"] = "a_rule_that_nobody_wrote"
    return True


def another_code(dice, part, rows, events):
    """A decision about a finding that the verdict does not have."""
    places = _places(events, "decided", where=lambda event: event["rule"] not in ("linear", "blind", "e_max", "belief",
                                                                                  "not_understood"))  # fmt: skip
    if not places:
        return False
    events[dice.choice(places)]["code"] = "plan.invented"
    return True


def worse_move(dice, part, rows, events):
    """A move that was not the best of those weighed."""
    places = _places(events, "decided", where=lambda event: len((event.get("weighing") or {}).get("options", ())) > 1)
    if not places:
        return False
    options = events[dice.choice(places)]["weighing"]["options"]
    if options[0]["value"] == options[1]["value"]:
        return False
    options.reverse()
    return True


def passes_errors(dice, part, rows, events):
    """A verdict that passes an artifact with errors."""
    places = _places(events, "verdict_reached", where=lambda event: event["verdict"].get("findings"))
    places = [
        place
        for place in places
        if any(each.get("severity") != "warning" for each in events[place]["verdict"]["findings"])
    ]
    if not places:
        return False
    events[dice.choice(places)]["verdict"]["passed"] = True
    return True


def verdict_about_nothing(dice, part, rows, events):
    """A verdict about an artifact that nobody made."""
    places = _places(events, "verdict_reached")
    if not places:
        return False
    events[dice.choice(places)]["node"] += "9"
    return True


def other_steps_cleared(dice, part, rows, events):
    """A replan that keeps a step which requires what is redone."""
    places = _places(events, "revised", where=lambda event: len(event["cleared"]) > len(event["targets"]))
    if not places:
        return False
    event = events[dice.choice(places)]
    event["cleared"] = event["targets"]
    return True


def clock_set_back(dice, part, rows, events):
    """A record that is dated before the one before it."""
    if len(rows) < 2:
        return False
    rows[dice.randrange(1, len(rows))]["at"] -= 10_000_000.0
    return True


def earlier_driver(dice, part, rows, events):
    """A record of a driver whose successor has written already."""
    places = [place for place, row in enumerate(rows) if place and rows[place - 1]["epoch"] > 1]
    if not places:
        return False
    rows[dice.choice(places)]["epoch"] = 0
    return True


def message_left_out(dice, part, rows, events):
    """A message that a record has taken is missing."""
    if not part["messages"]:
        return False
    part["messages"].pop(dice.randrange(len(part["messages"])))
    return True


def another_outcome(dice, part, rows, events):
    """An outcome that the last end does not have."""
    part["outcome"] = "success" if part["outcome"] != "success" else "cancelled"
    return True


def failed_steps_succeed(dice, part, rows, events):
    """A success of a run in which a step was never accepted."""
    if part["kind"] != "planning" or part["outcome"] == "success":
        return False
    passed = {event["node"].partition("/")[0] for event in events
              if event["kind"] == "verdict_reached" and event["verdict"].get("passed")}  # fmt: skip
    begun = {event["node"].partition("/")[0] for event in events if event["kind"] == "generation_requested"}
    if begun <= passed:
        return False
    for event in events:
        if event["kind"] == "run_finished":
            event["outcome"] = "success"
    part["outcome"] = "success"
    return True


LIES = (
    request_left_out, reply_twice, over_the_limit, lower_limit, negative_usage, another_sum, another_rule, another_code,
    guard_not_asked, nothing_cleared, worse_move, passes_errors, verdict_about_nothing, other_steps_cleared,
    clock_set_back, earlier_driver,
    message_left_out, another_outcome, failed_steps_succeed,
)  # fmt: skip
"""What the owner of the key may try; each contradicts other records, so each is found."""

EDITS = (a_byte,) * 10 + (bytes_left_out,) * 3 + (not_rebuilt,) * 5 + (by_another_key, by_its_owner)
"""One in ten rebuilds the whole chain."""
