"""Finished runs of all three kinds, each from one number, as a journal would have stored them."""

import random
from functools import cache

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from actors.acquisition.prepare import PreparedAcquisition
from replan.runs.attestation import attestation_of, merkle_root, signed
from replan.setup.kinds import Kinds
from runtime.journal.chain import Stored, Tip, extend, genesis, link
from runtime.journal.head import RunHead
from runtime.journal.port import ORDINARY, Fact, InboxItem
from runtime.journal.raw import RunCopy
from runtime.journal.validation import encode_facts
from tests.acquisition.stage import Stage as AcquisitionStage
from tests.acquisition.stage import prepared
from tests.acquisition.states import BOOT
from tests.acquisition.test_properties import STEPS_MAX, move, random_profile
from tests.execution.random_plans import drawn
from tests.execution.world import World
from tests.simulation.driver import Run

KINDS = Kinds()
KEY, OTHER_KEY = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2))
PUBLIC = KEY.public_key().public_bytes_raw().hex()


def planned(seed):
    """Return the events of a planning run; random replies, faults, crashes, people, branches and policies."""
    run = Run(seed)
    run.simulate()
    return run.events


def executed(seed):
    """Return the events of an execution of a random plan."""
    value, _ = drawn(seed)
    world = World(seed, value, replans=seed % 3 == 0)
    world.play()
    return world.stage.events


def acquired(seed):
    """Return the events of an acquisition by a random profile."""
    chance, base = random.Random(seed), prepared()
    config = base.pinned.model_copy(update={"profile": random_profile(chance)})
    stage = AcquisitionStage(PreparedAcquisition("goal", config, base.limits, chance.choice([{}, BOOT]), "random"))
    for _ in range(STEPS_MAX):
        if stage.finished:
            break
        move(chance, stage)
    return stage.events


PLAYED = {"planning": planned, "execution": executed, "acquisition": acquired}


@cache
def run_copy(kind, seed):
    """Return a run as a journal has it; None for one that has not ended."""
    events, found = PLAYED[kind](seed), KINDS.named(kind)
    state, now, epoch, name = found.machine.initial(), 0.0, 1, f"{kind[:4]}{seed}"
    tip, rows, texts, inbox = Tip(0, genesis(kind, found.format)), [], {}, []
    for event in events:
        state = found.machine.evolve(state, event)
        now, epoch = max(now, getattr(event, "at", None) or 0.0), getattr(event, "epoch", epoch)
        taken = None
        if event.kind in ("note_told", "requirement_told"):
            taken = len(inbox) + 1
            inbox.append(InboxItem(taken, f"tell:{taken}", event.text, now))
        entries = encode_facts(found.codec, [Fact(event, taken)])
        texts |= {bytes.fromhex(digest): text for entry in entries for digest, text in entry.texts.items()}
        rows += extend(name, tip, epoch, now, entries)
        tip = Tip(rows[-1].seq, rows[-1].hash)
    summary = found.machine.summary(state)
    if summary.status != "finished":
        return None
    created = rows[0].at
    head = RunHead(name, "a title", kind, found.format, ORDINARY, created, now, summary, tip)
    return RunCopy(head, rows, frozenset(row.seq for row in rows), inbox, texts)


@cache
def attestation(kind, seed):
    """Return the unsigned attestation of a run, or None."""
    copy = run_copy(kind, seed)
    return None if copy is None else attestation_of([copy], KINDS, "0.0.0", copy.head.updated + 1.0)


def file_of(kind, seed, key=KEY):
    """Return the bytes of the signed attestation of a run, or None."""
    made = attestation(kind, seed)
    return None if made is None else signed(made, key)


def rebuilt(attestation):
    """Number the records of a changed attestation, and compute its chain, root and anchor, as anybody could."""
    for part in attestation["runs"]:
        previous, hashes = genesis(part["kind"], part["format"]), []
        for number, row in enumerate(part["records"], 1):
            row["seq"] = number
            stored = Stored(number, row["at"], row["epoch"], row["inbox"], row["body"].encode(), b"")
            previous = link(previous, part["run"], stored)
            row["hash"] = previous.hex()
            hashes.append(previous)
        part["merkle_root"] = merkle_root(hashes).hex()
        part["anchor"] = {"seq": len(hashes), "hash": previous.hex()}
    return attestation
