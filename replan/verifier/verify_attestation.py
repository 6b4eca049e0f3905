"""Verifies the attestation of a run: `python verify_attestation.py FILE [PUBLIC_KEY]`. Exit code 0, or 9 for a finding.

It needs Python 3.11 and `cryptography` alone. docs/reference/attestation.md describes the file and each check in order.
"""

import base64
import hashlib
import json
import struct
import sys
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

RUN_KEYS = "anchor created format kind merkle_root messages outcome records run summary title"
TEXTS = "specification pinned attachments goal task answer content arguments output plan text"
STARTS = {"run_started": "planning", "acquisition_started": "acquisition", "execution_started": "execution"}
FREE = "unresolved_host auth not_found content_refused prompt_too_long bad_request refused_connection no_api"
LEVELS = ("plan_minimal", "plan_medium", "plan_expansive")
UNITS, CLOCK_SECONDS = ("calls", "tokens", "micro_usd"), 1.0
FORM = (KeyError, TypeError, ValueError, AttributeError, IndexError, struct.error, RecursionError, OverflowError)
Json = dict[str, Any]


class Audit:
    """The result: `wrong` contradicts the file, `proved` follows from it, `claimed` is what only its author says."""

    def __init__(self, *wrong: str) -> None:
        self.wrong, self.proved, self.claimed = list(wrong), list[str](), list[str]()

    def check(self, holds: object, cause: str) -> None:
        """Note what is wrong unless it holds."""
        self.wrong += [] if holds else [cause]


def canonical(value: Any) -> bytes:
    """Return a value as canonical JSON: sorted keys, no spaces, UTF-8, a line feed at the end."""
    return (json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


def sha256(*parts: bytes) -> bytes:
    """Return the SHA-256 of some bytes, one after the other."""
    return hashlib.sha256(b"".join(parts)).digest()


def verify(data: bytes, public_key: str | None = None) -> Audit:
    """Verify the bytes of a file; `public_key` is the signer's in hex, from another source than the file."""
    audit = Audit()
    try:
        document = json.loads(data)
        signed, signature = document["attestation"], document["signature"]
        key, value = bytes.fromhex(signature["key"]), bytes.fromhex(signature["value"])
        form = {"attestation": signed, "signature": {"algorithm": "Ed25519", "key": key.hex(), "value": value.hex()}}
        audit.check(canonical(form) == data, "file: it is not written in the one form that it may have")
        Ed25519PublicKey.from_public_bytes(key).verify(value, canonical(signed))
        audit.check(public_key in (None, key.hex()), f"signature: it is by the key {key.hex()}, not by {public_key}")
        if not audit.wrong:
            owner = "" if public_key else "; nobody has said whose key that is"
            audit.proved.append(f"the file is, byte for byte, what the key {key.hex()} has signed{owner}")
            _attestation(signed, audit)
    except InvalidSignature:
        audit.wrong.append("signature: the file is not what was signed")
    except FORM as error:
        audit.wrong.append(f"file: it has not the form of an attestation: {type(error).__name__}: {error}"[:200])
    return audit


def _attestation(signed: Json, audit: Audit) -> None:
    texts, named = signed["texts"], set[str]()
    audit.check(sorted(signed) == ["made", "release", "runs", "texts", "version"], "file: it has other parts")
    audit.check(signed["version"] == 1, f"file: its version is {signed['version']}, and only 1 is known")
    audit.check(all(sha256(text.encode()).hex() == name for name, text in texts.items()), "texts: one was changed")
    ids = [run["run"] for run in signed["runs"]]
    audit.check(all(name.rpartition(".")[0] in ids for name in ids[1:]), "file: a run is no step of the first")
    for run in signed["runs"]:
        where = f"run {run['run']}"
        events = [(f"{where}, record {row['seq']}", json.loads(row["body"])) for row in run["records"]]
        audit.check(" ".join(sorted(run)) == RUN_KEYS, f"{where}: it has other parts")
        audit.check(STARTS.get(events[0][1]["kind"]) == run["kind"], f"{where}: its kind {run['kind']} is unknown")
        _chain_and_times(run, where, signed["made"], audit)
        named |= _texts_and_messages(run, where, events, audit)
        if not audit.wrong:
            sums = _budget(where, events, audit)
            summary = _decisions(where, events, run, texts, audit)
            ends = [event["outcome"] for _, event in events if event["kind"] == "run_finished"]
            audit.check(ends and run["outcome"] == ends[-1], f"{where}: its outcome is not that of its last records")
            audit.check(run["summary"] == sums | summary, f"{where}: the summary is not what follows from the records")
    audit.check(audit.wrong or set(texts) == named, "texts: one is missing, or is named by no record")
    audit.claimed += [
        f"release {signed['release']} wrote the records and the file, at the times that its clocks told",
        "models, tools and people said what is recorded, and providers counted the tokens so",
        "the key's owner has not made up the records as a whole: a time stamp, or a copy kept elsewhere, shows when",
    ]


def _chain_and_times(run: Json, where: str, made: float, audit: Audit) -> None:
    kind, name, hashes = run["kind"].encode(), run["run"].encode(), list[bytes]()
    previous = sha256(bytes(32), struct.pack(">QB", run["format"], len(kind)), kind)
    at, epoch, mono = run["created"], 0, 0.0
    for number, row in enumerate(run["records"], 1):
        body, inbox = row["body"].encode(), -1 if row["inbox"] is None else row["inbox"]
        place = struct.pack(">QdQqQ", row["seq"], row["at"], row["epoch"], inbox, len(body))
        previous = sha256(previous, struct.pack(">B", len(name)), name, place, body)
        follows = (row["seq"], row["hash"], len(row)) == (number, previous.hex(), 6)
        audit.check(follows or audit.wrong, f"{where}, record {number}: it does not follow from the one before it")
        hashes.append(previous)
        event, mono = json.loads(body), mono if row["epoch"] == epoch else 0.0
        second = None if event["kind"] in ("settings_changed", *STARTS) else event.get("mono")
        forward = row["at"] >= at - CLOCK_SECONDS and row["epoch"] >= epoch and (second or mono) >= mono - CLOCK_SECONDS
        audit.check(forward, f"{where}, record {number}: a clock was set back before it")
        at, epoch, mono = max(at, row["at"]), row["epoch"], max(mono, second or 0.0)
    audit.check(made >= at - CLOCK_SECONDS, f"{where}: its last record is later than the file")
    audit.check(merkle_root(hashes).hex() == run["merkle_root"], f"{where}: the Merkle root is that of other records")
    tip = {"seq": len(hashes), "hash": previous.hex()}
    audit.check(run["anchor"] == tip, f"{where}: its anchor is not its last record")
    audit.proved.append(f"{where}: its {len(hashes)} records are complete and in the order of their times")


def merkle_root(hashes: list[bytes]) -> bytes:
    """Return the root of the Merkle tree over the records' hashes (RFC 6962)."""
    half = 1 << (len(hashes) - 1).bit_length() >> 1
    return sha256(b"\1", merkle_root(hashes[:half]), merkle_root(hashes[half:])) if half else sha256(b"\0", hashes[0])


def _texts_and_messages(run: Json, where: str, events: list[tuple[str, Json]], audit: Audit) -> set[str]:
    for item in run["messages"]:
        parts = [part.encode() for part in (run["run"], item["key"], item["body"])]
        seal = sha256(struct.pack(">qd3Q", item["inbox"], item["at"], *map(len, parts)), *parts).hex()
        audit.check(seal == item["seal"] and len(item) == 5, f"{where}, message {item['inbox']}: it was changed")
    taken = [row["inbox"] for row in run["records"] if row["inbox"] is not None]
    once = sorted(taken) == sorted({item["inbox"] for item in run["messages"]} & set(taken))
    audit.check(once, f"{where}: a message is missing, or taken twice")
    named = {_text(event, name) for _, event in events for name in TEXTS.split()} - {""}
    return named | {each["text"] for each in run["summary"]["plans"]}


def _text(event: Json, name: str) -> str:
    """Return the hash of the text in a field of an event, where 43 characters of base64 stand for it; else nothing."""
    value = None if event["kind"] == "clarification_requested" else event.get(name)
    return base64.b64decode(f"{value}=", b"-_", validate=True).hex() if isinstance(value, str) else ""


def _budget(where: str, events: list[tuple[str, Json]], audit: Audit) -> Json:
    limits, now, charged, pending, late = Json(), 0.0, dict[str, list[int]](), set[str](), set[str]()

    def sums() -> dict[str, int]:
        return dict(zip(UNITS, map(sum, zip([0, 0, 0], *charged.values(), strict=True)), strict=True))

    for place, event in events:
        kind, name = event["kind"], event.get("request_id", "")
        if kind != "settings_changed" or event.get("mono") is not None:
            now = max(now, event.get("at") or 0.0)
        if kind in ("settings_changed", "forked", *STARTS) and event.get("limits"):
            limits = {"calls": 30} | {key: value for key, value in event["limits"].items() if value is not None}
        charged = {each: [0, 0, 0] for each in charged} if kind == "forked" else charged
        asked = event if "prompt_hash" in event else event["again"] if "replaces" in event else {}
        if "prompt_hash" in asked:
            old, again, second = event.get("replaces"), asked.get("try_number", 1), "rule" in asked
            audit.check(old is None or old in pending, f"{place}: it replaces a request that is not open")
            name = asked["node"] + "/c" * second + f".t{again}" * (again > 1)
            audit.check(name not in charged, f"{place}: {name} was asked for before")
            charged[name] = [asked.get("calls", 1), asked.get("tokens_max", 0), asked.get("micro_usd_max", 0)]
            pending, late = pending - {old} | {name}, late | ({old} if old else set())
            over = [unit for unit, total in sums().items() if total > limits.get(unit, total)]
            audit.check(not over and now < limits.get("deadline", now + 1), f"{place}: it is over a limit {over}")
        elif kind in ("settled", "generation_failed") or ("content" in event and name):
            audit.check(name in (pending | late if kind == "settled" else pending), f"{place}: {name} is not open")
            tokens = sum((event.get("usage") or {}).get(f"{side}_tokens", 0) for side in ("input", "output"))
            used, late = event.get("used", {"calls": 1, "tokens": tokens} | event), late - {name}
            if kind == "generation_failed" and "used" not in event:
                free = event.get("unpaid") or event["fault"]["kind"] in (*FREE.split(), "rate_limited")
                used, late = ({}, late) if free else (dict(zip(UNITS, charged[name], strict=True)), late | {name})
            pending, charged[name] = pending - {name}, [used.get(unit, 0) for unit in UNITS]
            audit.check(min(charged[name]) >= 0, f"{place}: it books a negative amount")
    audit.proved.append(f"{where}: its requests and replies add up to {sums()}; none was over a limit")
    return {"limits": limits, "committed": sums()}


def _decisions(where: str, events: list[tuple[str, Json]], run: Json, texts: Json, audit: Audit) -> Json:
    pinned = json.loads(texts[_text(events[0][1], "pinned")])
    plans, planning = {each["seq"]: each for each in run["summary"]["plans"]}, run["kind"] == "planning"
    pairs, old, asked, made = pinned["workflow"]["action_pairs"] if planning else {}, set[str](), set[str](), set[str]()
    failures, verdicts, decided, judged, came_again, due = Json(), Json(), 0, list[Json](), False, None
    for seq, (place, event) in enumerate(events, 1):
        kind, node = event["kind"], event.get("node") or ""
        step, verdict = node.partition("/")[0], verdicts.get(node, {})
        pinned = json.loads(texts[_text(event, "pinned")]) if kind == "forked" and event.get("pinned") else pinned
        made |= {event["request_id"].partition(".t")[0]} if kind == "artifact_produced" else set()
        came_again = came_again or event.get("repeats") is not None
        asked |= {node} if kind == "judgement_requested" or event.get("review") else set()
        asked |= {node} if "'review.unanswered'" in str(event.get("verdict")) else set()
        audit.check(not due or kind != "generation_requested", f"{place}: a replan was decided that cleared nothing")
        if kind == "verdict_reached" and planning:
            verdict = verdicts[node] = event["verdict"]
            audit.check(node in made & asked, f"{place}: it judges {node}, which nobody has made, or asked about")
            audit.check(not (verdict.get("passed") and _errors(verdict)), f"{place}: it passes what has errors")
            guards = {part["guard"]: part.get("passed") for part in (verdict, *verdict.get("parts", ()))}
            if guards.keys() & set(LEVELS) and seq in plans:
                judged.append({"seq": seq, "node": node, "text": plans[seq]["text"]})
                fault = _fault(texts[plans[seq]["text"]]) if any(map(guards.get, LEVELS[1:])) else ""
                audit.check(not fault, f"{place}: it passes a plan, although {fault}")
        elif kind == "decided":
            mark = sorted({(each["code"], each.get("where", "")) for each in _errors(verdict)})
            past = [each for each in failures.get(step, []) if each[0] != node]
            streak = next((n for n, each in enumerate(reversed(past), 1) if each[1] != mark), len(past) + 1)
            shared = pinned["workflow"]["search"] != "depth_first"
            cause = _decision(event, verdict, pinned, 0 if shared else streak, came_again) if verdict else "unjudged"
            audit.check(not cause and not verdict.get("passed"), f"{place}: {cause or 'it was not rejected'}")
            failures[step], decided = past if node in old else [*past, (node, mark)], decided + 1
            due = event.get("targets") if str(event.get("level")).endswith("replan") else None
        elif kind == "revised":
            gone = set(event["targets"])
            for _ in pairs:
                gone |= {each for each in pairs if gone & set(pairs[each]["requires"])}
            fits = gone == set(event["cleared"]) and due in (None, event["targets"])
            audit.check(fits, f"{place}: it clears others than were decided, or than require its targets")
            failures, old, due = ({}, old | made, None) if event.get("new_round") else (failures, old, None)
        elif kind == "run_finished" and event["outcome"] == "success" and planning:
            passed = {each.partition("/")[0] for each in verdicts if verdicts[each].get("passed")}
            audit.check(passed >= set(pairs), f"{place}: a step of it was never accepted")
    audit.proved += [f"{where}: its {decided} decisions follow from its policy"] if planning else []
    audit.claimed.append(f"{where}: the odds of weighed moves; which moves budgets allowed; what other guards say")
    return {"plans": judged, "verdicts": len(verdicts), "decisions": decided}


def _fault(text: str) -> str:
    """Return what is never reached in a plan, even if nothing were deleted, so that it is valid at no level above 0."""
    plan, reached = json.loads(text[text.find("{") : text.rfind("}") + 1]), set[str]()
    steps, tokens = plan["steps"], set(plan["initial_state"])
    for step in [each for _ in steps for each in steps]:
        if tokens >= set(step.get("preconditions", ())) and reached >= set(step.get("dependencies", ())):
            reached.add(step["step_id"])
            for made in (step, *step.get("outcomes", ())):
                tokens |= {*made.get("effects", ()), *made.get("failure_effects", ())}
    idle = {step["step_id"] for step in steps if not step.get("repeatable")} - reached
    return ", ".join(f"{each} is never reached" for each in sorted(idle | (set(plan["goal_state"]) - tokens)))


def _errors(verdict: Json) -> list[Json]:
    return [each for each in verdict.get("findings", ()) if each.get("severity", "error") == "error"]


def _decision(event: Json, verdict: Json, pinned: Json, streak: int, came_again: bool) -> str:
    """Return what is wrong with a decision; `streak`: equal rejections in a row, or 0 where branches share them."""
    workflow, belief, rule, rows = pinned["workflow"], pinned["policy"].get("belief") or {}, event["rule"], Json()
    step, level, targets = event["node"].partition("/")[0], event.get("level", "local_retry"), event.get("targets", [])
    pair, errors, table = workflow["action_pairs"][step], _errors(verdict), pinned["policy"]["rows"]
    for row in table:
        words = {*row["codes"], *row["tags"]}
        names = [{each["code"], each["code"].split(".")[0] + ".*", *each.get("tags", ())} for each in errors]
        hits = [each for each, found in zip(errors, names, strict=True) if words & found]
        again = row["repeated"] and errors and (not streak or streak >= (pair["r_patience"] or workflow["r_patience"]))
        always = not (words or row["fatal"] or row["repeated"] or row["repeats"])
        sure = hits or always or (row["fatal"] and verdict.get("fatal")) or (again and streak and not belief)
        if sure or again or (row["repeats"] and came_again):
            rows[row["id"]] = [*hits, *errors, {"code": ""}][0]["code"]
        if sure:
            break
    if event.get("classified"):
        chosen = [row for row in table if event["classified"] in row["tags"]] + table[-1:]
        rows = {row["id"]: [*errors, {"code": ""}][0]["code"] for row in chosen}
    options = (event.get("weighing") or {}).get("options", [])
    if rule == "belief" and belief and options:
        move = {"local_retry": "retry", "clarify": "ask"}.get(level, "redo")
        worth = all(abs(each["value"] - each["chance"] / each["calls"]) < 0.002 for each in options)
        same = move == options[0]["move"] and targets == options[0].get("targets", [])
        best = options[0]["value"] == max(each["value"] for each in options)
        return "" if same and worth and best else "it is not the best move that was weighed"
    if rule in rows:
        asked = next(row["level"] for row in table if row["id"] == rule)
        fits = rows[rule] == event.get("code", "") and (level != "clarify" or asked == level)
        return "" if fits else f"its code or level is not that of its rule {rule}"
    doubt = any(each["code"] == "problem.not_understood" for each in verdict.get("findings", ()))
    capped = (workflow["e_max"] if pair["e_max"] is None else pair["e_max"]) is not None
    other = {"belief": belief and level == "give_up", "not_understood": doubt and level == "give_up", "e_max": capped}
    fits = other.get(rule, rule in ("linear", "blind") and workflow["search"] != "depth_first")
    return "" if fits else f"its rule {rule} does not match first; these may: {', '.join(rows)}"


def lines(audit: Audit) -> list[str]:
    """Return what was found as lines for people: what is wrong; or what is proved, and what is only claimed."""
    if audit.wrong:
        return [f"WRONG    {cause}" for cause in audit.wrong]
    return [f"proved   {each}" for each in audit.proved] + [f"claimed  {each}" for each in audit.claimed]


def main(arguments: list[str]) -> int:
    """Verify the file that the first argument names, by the key that the second one is; print the result."""
    try:
        audit = verify(Path(arguments[0]).read_bytes(), *arguments[1:2])
    except (OSError, IndexError) as error:
        audit = Audit(f"usage: verify_attestation.py FILE [PUBLIC_KEY] ({error})")
    sys.stdout.write("\n".join(lines(audit)) + "\n")
    return 9 if audit.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
