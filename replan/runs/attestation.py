"""Attesting what a run did: its records and all that they name in one signed file (docs/reference/attestation.md).

The file is JSON in one form only, so that each of its bytes is either signed or fixed. The verifier, which is a program
of its own (`replan.verifier`), derives the budget, the decisions and the verdicts again from the records alone; what
stands here comes from the program's own fold, so that the two are compared.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from replan.setup.command_name import program
from runtime.core.errors import KindUnknown, UsageProblem
from runtime.core.events import Record
from runtime.core.machine import fold
from runtime.journal.chain import decode, seal
from runtime.journal.port import InboxItem
from runtime.journal.raw import RunCopy

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from replan.runs.loaded import AnyKind
    from replan.setup.kinds import Kinds

VERSION = 1
"""The version of the file's form."""
KINDS = ("planning", "acquisition", "execution")
"""The kinds of runs whose records the verifier knows."""
PLAN_GUARDS = frozenset({"plan_minimal", "plan_medium", "plan_expansive"})
"""The guards whose verdicts the verifier derives again from the plan."""


def canonical(value: Any) -> bytes:
    """Return a value as canonical JSON: sorted keys, no spaces, UTF-8, a line feed at the end."""
    return (json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


def attestation_of(copies: Sequence[RunCopy], kinds: "Kinds", release: str, made: float) -> dict[str, Any]:
    """Return the unsigned attestation of a run and the runs of its steps; the first is the run itself.

    `made` is the time, in UTC seconds since 1970. Raises `UsageProblem` for a run that has not finished, `KindUnknown`
    for one of a kind that the verifier does not know, and `JournalDamaged`.
    """
    texts, runs = dict[str, str](), list[dict[str, Any]]()
    for copy in copies:
        runs.append(_run(copy, kinds, texts))
    return {"version": VERSION, "made": made, "release": release, "runs": runs, "texts": texts}


def _run(copy: RunCopy, kinds: "Kinds", texts: dict[str, str]) -> dict[str, Any]:
    head = copy.head
    if head.kind not in KINDS:
        raise KindUnknown(head.run, head.kind, head.format, None)
    kind = kinds.get(head.run, head.kind, head.format)
    if head.summary.status != "finished":
        hint = f"`{program()} resume {head.run}` goes on with it, `{program()} cancel {head.run}` ends it"
        raise UsageProblem(f"run {head.run} has not ended, so nothing can be attested", place="RUN", hint=hint)
    stored = {digest.hex(): text for digest, text in copy.texts.items()}
    records = decode(kind.codec, head.run, copy.records, stored.get)
    texts |= {digest: text.decode() for digest, text in stored.items()}
    hashes = [row.hash for row in copy.records]
    return {
        "run": head.run,
        "kind": head.kind,
        "format": head.format,
        "title": head.title,
        "created": head.created,
        "outcome": head.summary.detail,
        "anchor": {"seq": head.tip.seq, "hash": head.tip.hash.hex()},
        "merkle_root": merkle_root(hashes).hex(),
        "records": [
            {
                "seq": row.seq,
                "at": row.at,
                "epoch": row.epoch,
                "inbox": row.inbox,
                "body": bytes(row.body).decode(),
                "hash": row.hash.hex(),
            }
            for row in copy.records
        ],
        "messages": [_message(head.run, item) for item in copy.inbox],
        "summary": _summary(kind, records, texts),
    }


def _message(run: str, item: InboxItem) -> dict[str, Any]:
    return {
        "inbox": item.inbox,
        "key": item.key,
        "body": item.body,
        "at": item.at,
        "seal": seal(run, item).hex(),
    }


def _summary(kind: "AnyKind", records: Sequence[Record[Any]], texts: dict[str, str]) -> dict[str, Any]:
    """Return what the program itself takes the records for: the budget, the judged plans, and how much was decided."""
    state = fold(kind.machine, (record.event for record in records))
    run = kind.run_state(state)
    assert run is not None  # A run that has finished has begun.
    committed = run.ledger.committed
    plans, judged, decided = list[dict[str, Any]](), set[str](), 0
    for record in records:
        event = record.event
        decided += event.kind == "decided"
        if event.kind != "verdict_reached" or kind.name != "planning":
            continue
        judged.add(event.node)
        if any(part.guard in PLAN_GUARDS for part in (event.verdict, *event.verdict.parts)):
            content = state.nodes[event.node].artifact.content
            digest = hashlib.sha256(content.encode()).hexdigest()
            texts[digest] = content
            plans.append({"seq": record.seq, "node": event.node, "text": digest})
    return {
        "limits": run.ledger.limits.model_dump(mode="json", exclude_none=True),
        "committed": {"calls": committed.calls, "tokens": committed.tokens, "micro_usd": committed.micro_usd},
        "plans": plans,
        "verdicts": len(judged),
        "decisions": decided,
    }


def merkle_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root of the Merkle tree over the hashes of records, as RFC 6962 defines it; there is at least one."""
    if len(hashes) == 1:
        return hashlib.sha256(b"\0" + hashes[0]).digest()
    half = 1 << (len(hashes) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + merkle_root(hashes[:half]) + merkle_root(hashes[half:])).digest()


def signed(attestation: dict[str, Any], key: "Ed25519PrivateKey") -> bytes:
    """Return the bytes of the file: the attestation, and its signature by a key."""
    signature = {
        "algorithm": "Ed25519",
        "key": key.public_key().public_bytes_raw().hex(),
        "value": key.sign(canonical(attestation)).hex(),
    }
    return canonical({"attestation": attestation, "signature": signature})
