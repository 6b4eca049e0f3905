"""Replan as a contestant: whole runs through the supervisor, its actors and a SQLite journal, with an instant model.

A step is the complete step of a planning run: render the prompt, request a generation, call a model through its actor,
record the artifact and request a judgement (first commit), call a guard through its actor, record its verdict and the
next request (second commit). Only the model and the guard do nothing.
"""

import statistics
import sys
import time
from functools import cache, partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import trio

from actors.config.loader import load_policy, load_workflow
from actors.config.workflow import Workflow
from actors.handlers.generators import Registry
from actors.planning.children import actors_for
from actors.planning.config import RunConfig
from actors.planning.events import RunStarted
from actors.planning.kind import CODEC
from actors.planning.machine import PlanningMachine
from actors.run.kind import Resources
from actors.values.findings import Finding, Verdict
from benchmarks.worker import serve
from replan.setup.installation import data_root, tune
from runtime.core.clock import SystemClock
from runtime.core.ledger import Limits, Usage
from runtime.drive.options import Admission, DriveOptions, Ending, LeaseTerms, Polling, WakeSignal
from runtime.drive.supervisor import Supervisor
from runtime.host.host import POLL_SECONDS
from runtime.journal.sqlite.journal import open_sqlite
from runtime.models.port import Reply
from runtime.open_journal import open_journal

PROBLEM = "Logins time out after the upgrade; the session store answers late.\n" * 6
ACCEPTED = Verdict(guard="instant", passed=True, score=1.0)


class InstantModel:
    """A model that answers immediately with `size` bytes that differ for each request."""

    name = "instant"

    def __init__(self, size):
        self.size = size

    async def complete(self, request):
        await trio.lowlevel.checkpoint()
        text = f'{{"for": "{request.client_request_id}", "said": "'.ljust(self.size - 2, "x") + '"}'
        return Reply(text=text, usage=Usage(input_tokens=100, output_tokens=100), model="instant")


def rejecting(limit):
    """Return a guard that rejects all attempts before number `limit`, each with another finding."""
    attempts = 0

    def judge(_artifact, _context):
        nonlocal attempts
        attempts += 1
        if attempts >= limit:
            return ACCEPTED
        finding = Finding(code="field.missing", message="a field is missing", where=f"part{attempts}")
        return Verdict(guard="instant", passed=False, score=0.0, findings=(finding,))

    return judge


@cache
def pinned(steps, rmax):
    """Return the configuration of a chain of steps, with the shipped prompts and policy."""
    root = data_root()
    pairs = {
        f"s{number}": {
            "generator": "model",
            "guard": "instant",
            "role": "recon",
            "rmax": rmax,
            "requires": [f"s{number - 1}"] if number else [],
        }
        for number in range(steps)
    }
    workflow = Workflow.model_validate({"name": "chain", "action_pairs": pairs, "max_total_calls": steps * rmax})
    prompts = load_workflow("search", root).prompts
    return RunConfig(workflow=workflow, policy=load_policy("default", root), prompts=prompts, model="instant")


async def watch(journal, signals):
    """Wake the runs with new inbox messages, as a host does: one query for all runs after every commit."""
    changed = Polling(journal, POLL_SECONDS)
    while True:
        await changed()
        for run in (await journal.due(0)).unread & signals.keys():
            signals[run].wake()


async def drive(journal, run, config, model, guard, *, changed=None):
    """Drive one run from its start to its end. Without `changed` it polls its inbox itself."""
    clock = SystemClock()
    actors = actors_for(config, Resources(model, clock, Registry(guards={"instant": lambda _: guard})))
    supervisor = Supervisor(
        run,
        machine=PlanningMachine(),
        journal=journal,
        actors=actors,
        lease=LeaseTerms(owner="benchmark"),
        options=DriveOptions(changed=changed),
        admission=Admission("benchmark"),
    )
    limits = Limits(calls=config.workflow.max_total_calls)
    ending = await supervisor.drive(
        RunStarted(at=clock.now(), run=run, specification=PROBLEM, pinned=config.model_dump_json(), limits=limits)
    )
    assert ending is Ending.FINISHED
    assert str(supervisor.state.run.finished.outcome) == "success", supervisor.state.run.finished


async def chains(scratch, runs, steps, text_bytes, *, first=0, url="", wrap=lambda journal: journal):
    """Return the seconds of `runs` concurrent runs of `steps` accepted steps, from creation to the last record.

    The journal is a file in `scratch`, or the database with a URL.

    Runs are numbered from `first`, as other processes may drive runs in the same file at the same time. `began` and
    `ended` are times of a clock that all processes share.
    """
    config, model = pinned(steps, 1), InstantModel(text_bytes)
    path = Path(scratch) / "journal.sqlite3"
    async with open_journal(url or f"sqlite:{path}", CODEC, SystemClock()) as opened:
        journal = wrap(opened)
        signals = {f"run-{number:06}": WakeSignal() for number in range(first, first + runs)}
        before = time.perf_counter()
        async with trio.open_nursery() as host:
            host.start_soon(watch, journal, signals)
            async with trio.open_nursery() as nursery:
                for run, signal in signals.items():
                    driver = partial(drive, journal, run, config, model, lambda *_: ACCEPTED)
                    nursery.start_soon(partial(driver, changed=signal) if runs > 1 else driver)
            host.cancel_scope.cancel()
        after = time.perf_counter()
        rows = [await journal.row(run) for run in signals]
        assert {row.summary.status for row in rows} == {"finished"}
    return {
        "seconds": after - before,
        "began": before,
        "ended": after,
        "steps": runs * steps,
        "bytes": 0 if url else path.stat().st_size,
    }


class MeasuredJournal:
    """A journal that records the duration of each append, from the call to the commit, and counts events."""

    def __init__(self, journal):
        self.journal, self.seconds, self.events = journal, [], 0

    def __getattr__(self, name):
        return getattr(self.journal, name)

    async def append(self, *arguments, **keys):
        before = time.perf_counter()
        records = await self.journal.append(*arguments, **keys)
        self.seconds.append(time.perf_counter() - before)
        self.events += len(records)
        return records


async def crowd(scratch, runs, steps, text_bytes):
    """Return the result of `chains`, the number of events, and the latency of appends (median, 99th percentile)."""
    journals = []

    def wrap(journal):
        journals.append(MeasuredJournal(journal))
        return journals[0]

    answer = await chains(scratch, runs, steps, text_bytes, wrap=wrap)
    (journal,) = journals
    cuts = statistics.quantiles(journal.seconds, n=100)
    return answer | {"events": journal.events, "append_median": cuts[49], "append_p99": cuts[98]}


async def retries(scratch, steps, text_bytes):
    """Return the seconds of one run with `steps` attempts at one step, of which all but the last are rejected."""
    config, model = pinned(1, steps), InstantModel(text_bytes)
    path = Path(scratch) / "journal.sqlite3"
    async with open_sqlite(path, CODEC, SystemClock()) as journal:
        before = time.perf_counter()
        await drive(journal, "run-000000", config, model, rejecting(steps))
        seconds = time.perf_counter() - before
    # The write-ahead log is merged and removed when the last connection closes.
    return {"seconds": seconds, "steps": steps, "bytes": path.stat().st_size}


class TimedModel(InstantModel):
    """A model that notes the processor time of this process at each request."""

    def __init__(self, size):
        super().__init__(size)
        self.times = []

    async def complete(self, request):
        self.times.append(time.process_time())
        return await super().complete(request)


async def late(scratch, steps, text_bytes):
    """Return the seconds of processor time of an attempt in the first and in the last tenth of a run of attempts."""
    config, model = pinned(1, steps), TimedModel(text_bytes)
    async with open_sqlite(Path(scratch) / "journal.sqlite3", CODEC, SystemClock()) as journal:
        await drive(journal, "run-000000", config, model, rejecting(steps))
    tenth = steps // 10
    first, last = model.times[: tenth + 1], model.times[-tenth - 1 :]
    return {"first": (first[-1] - first[0]) / tenth, "last": (last[-1] - last[0]) / tenth}


if __name__ == "__main__":
    tune()
    serve(
        {
            "crowd": lambda **keys: trio.run(partial(crowd, **keys)),
            "chains": lambda **keys: trio.run(partial(chains, **keys)),
            "late": lambda **keys: trio.run(partial(late, **keys)),
            "retries": lambda **keys: trio.run(partial(retries, **keys)),
        }
    )
