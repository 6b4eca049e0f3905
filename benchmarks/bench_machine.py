"""Time of an accepted step in the pure machine: only its functions and the codec, without trio and journal.

    python benchmarks/bench_machine.py [--runs N]

A step is a generation and a judgement, so two messages. The result of each part is the minimum of all runs, since other
work of the computer only adds time. Prints microseconds per step.
"""

import argparse
import gc
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from actors.planning.events import EVENTS, GenerationRequested, RunStarted
from actors.planning.machine import PlanningMachine
from actors.run.calls import Generated, Judged
from benchmarks.worker_replan import ACCEPTED, PROBLEM, pinned
from runtime.core.events import Codec
from runtime.core.ledger import Limits, Usage
from runtime.core.machine import settle
from runtime.models.port import Reply

STEPS = 10
TEXT_BYTES = 400
PARTS = ("accept", "settle", "encode", "outstanding", "brief")


def reply(request, now):
    """Return the message that answers a request."""
    if isinstance(request, GenerationRequested):
        text = f'{{"for": "{request.request_id}", "said": "'.ljust(TEXT_BYTES - 2, "x") + '"}'
        usage = Usage(input_tokens=100, output_tokens=100)
        return Generated(request.request_id, now, 0.01, Reply(text=text, usage=usage, model="instant"), mono=now)
    return Judged(request.request_id, now, 0.01, ACCEPTED, mono=now)


def simulate(machine, codec, first):
    """Simulate one run; return the seconds of each part."""
    seconds, state, message = dict.fromkeys(PARTS, 0.0), machine.initial(), first
    while True:
        marks = [time.perf_counter()]
        accepted = machine.accept(state, message)
        marks.append(time.perf_counter())
        state, events = settle(machine, state, accepted)
        marks.append(time.perf_counter())
        for event in events:
            codec.encode(event)
        marks.append(time.perf_counter())
        work = next(iter(machine.outstanding(state).values()), None)
        marks.append(time.perf_counter())
        if work is not None:
            machine.brief(state, work)
        marks.append(time.perf_counter())
        for part, before, after in zip(PARTS, marks, marks[1:], strict=False):
            seconds[part] += after - before
        if work is None:
            return seconds
        message = reply(work.request, message.at + 0.01)


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300, help="runs of ten steps (300)")
    options = parser.parse_args()
    machine, codec, config = PlanningMachine(), Codec(EVENTS), pinned(STEPS, 1)
    first = RunStarted(
        at=1_000.0, run="run", specification=PROBLEM, pinned=config.model_dump_json(), limits=Limits(calls=STEPS)
    )
    gc.disable()
    runs = [simulate(machine, codec, first) for _ in range(options.runs)]
    least = {part: min(run[part] for run in runs) / STEPS * 1e6 for part in PARTS}
    for part, micros in least.items():
        print(f"{part:12} {micros:6.1f}")
    print(f"{'all':12} {sum(least.values()):6.1f} µs per step")


if __name__ == "__main__":
    main()
