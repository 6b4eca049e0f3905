"""Record the replies of a real model to the tasks of the study, each by its exact request.

    python benchmarks/study/record.py [--tasks 60] [--calls 12000]

Needs `make model`; takes an hour of two quiet cores and goes on where it stopped. A task is kept if in six pairs of
requests, which are not used again, the model gets it right between 10 and 60 % of the time and neither call is right
always or never. For each task that is kept there are replies

- to the first call: 12 without feedback, and 8 after each answer that was wrong;
- to the second call, for each family: 12 without feedback, and 8 after each of the answers that came most often and
  were wrong (four of the right family, two of the others), with the finding of `plan_medium`;
- to the second call, for the right family: 4 after each of two wrong answers with the word that it was wrong, and 4
  with the finding of another task.

They are kept in replies.jsonl, a line a reply: the key of the request, task, call, family, what was said
before, condition, sample and text.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import trio

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tasks import (
    choice_request,
    choice_text,
    no_plan,
    pair_request,
    pair_text,
    read_choice,
    read_pair,
    task,
)

from runtime.core.events import text_hash
from runtime.models.open_models import open_openai
from runtime.models.port import ModelRequest, Reply

RECORDED = HERE / "replies.jsonl"
MODEL = "smollm2"
TEMPERATURE = 0.8
FIRST, AFTER, COMPARED = 12, 8, 4
"""Samples without feedback, after the own finding, and after no finding or one of another task."""
WRONG_SHOWN = {True: 4, False: 2}
"""How many wrong answers have replies after them, by whether the family is right."""
SCREEN = range(1000, 1006)
SCREENED = (0.1, 0.6)
"""The shares of right plans between which a task is kept: others say nothing about a policy."""
POOL = 600


class LimitReached(Exception):
    """The limit of calls is reached."""


class Recorder:
    """The recorded replies by exact request, and the server that gives those that are missing."""

    def __init__(self, limit=0):
        rows = RECORDED.read_text().splitlines() if RECORDED.exists() else []
        self.replies = {row["key"]: row for row in map(json.loads, rows)}
        self.limit, self.model = limit, None
        self.limiter = trio.CapacityLimiter(2)

    async def reply(self, asked, request, sample, **facts):
        """Return the text of one reply. Raises `LimitReached` where the limit of calls is reached."""
        system, user, schema = request
        key = text_hash(json.dumps([system, user, schema, MODEL, TEMPERATURE, sample]))[:32]
        if key not in self.replies:
            async with self.limiter:
                if self.model is None or len(self.replies) >= self.limit:
                    raise LimitReached
                found = await self.model.complete(
                    ModelRequest(
                        request_id="study/v1.a1",
                        purpose="study",
                        system=system,
                        user=user,
                        timeout_seconds=300.0,
                        output_tokens_max=80,
                        schema=schema,
                        fields={"temperature": TEMPERATURE, "seed": sample},
                    )
                )
            assert isinstance(found, Reply), found
            text = json.dumps(json.loads(found.text))  # The spaces between the tokens of an answer say nothing.
            self.replies[key] = {"key": key, "task": asked.name, **facts, "sample": sample, "text": text}
            with RECORDED.open("a") as file:
                file.write(json.dumps(self.replies[key]) + "\n")
        return self.replies[key]["text"]

    async def many(self, asked, request, samples, **facts):
        """Return the texts of several samples of one request."""
        texts = {}

        async def one(sample):
            texts[sample] = await self.reply(asked, request, sample, **facts)

        async with trio.open_nursery() as nursery:
            for sample in samples:
                nursery.start_soon(one, sample)
        return [texts[sample] for sample in samples]


async def screened(recorder, asked):
    """Return whether a task is kept."""
    chosen = await recorder.many(asked, choice_request(asked), SCREEN, call="screen 1")
    right_choices = sum(read_choice(text) == asked.right for text in chosen) / len(SCREEN)
    if not 0 < right_choices < 1:
        return False
    pairs = await recorder.many(asked, pair_request(asked, asked.right), SCREEN, call="screen 2")
    right_pairs = sum(asked.judged(read_pair(text))[0] for text in pairs) / len(SCREEN)
    return 0 < right_pairs < 1 and SCREENED[0] <= right_choices * right_pairs <= SCREENED[1]


async def record(recorder, asked, other_finding):
    """Record every reply of a task that is kept."""
    await recorder.many(asked, choice_request(asked), range(FIRST), call="choice")
    for choice in asked.families:
        request = choice_request(asked, choice_text(asked, choice), no_plan(choice))
        await recorder.many(asked, request, range(AFTER), call="choice", after=choice, condition="own")
        texts = await recorder.many(asked, pair_request(asked, choice), range(FIRST), call="pair", choice=choice)
        for rank, (pair, finding) in enumerate(wrong_answers(asked, texts)[: WRONG_SHOWN[choice == asked.right]]):
            said = pair_text(pair)
            facts = {"call": "pair", "choice": choice, "after": said}
            request = pair_request(asked, choice, said, finding)
            await recorder.many(asked, request, range(AFTER), **facts, condition="own")
            if choice == asked.right and rank < 2:
                request = pair_request(asked, choice, said)
                await recorder.many(asked, request, range(COMPARED), **facts, condition="none")
                request = pair_request(asked, choice, said, other_finding)
                await recorder.many(asked, request, range(COMPARED), **facts, condition="other")


def wrong_answers(asked, texts):
    """Return the wrong pairs among texts with their findings, the most frequent first."""
    counts = Counter(map(read_pair, texts))
    judged = [(pair, *asked.judged(pair)) for pair in sorted(counts, key=lambda pair: (-counts[pair], pair))]
    return [(pair, finding.message) for pair, passed, finding in judged if not passed]


async def collect(recorder, wanted):
    """Record `wanted` tasks; return the names of those that are kept, also where the limit of calls is reached."""
    kept = []
    try:
        for number in range(POOL):
            asked = task(f"t{number:03d}")
            if len(kept) < wanted and await screened(recorder, asked):
                kept.append(asked.name)
                # The finding of another task: of the pair that ends where it began, so that its words differ.
                other = task(f"t{number + 1:03d}")
                await record(recorder, asked, other.judged(other.solution[::-1])[1].message)
                print(f"{len(kept)} of {number + 1} tasks kept, {len(recorder.replies)} replies", flush=True)
    except* LimitReached:
        print(f"stopped at {len(recorder.replies)} replies")
    return kept


async def run(recorder, base_url, wanted):
    async with open_openai(MODEL, base_url=base_url) as recorder.model:
        return await collect(recorder, wanted)


@contextmanager
def serving():
    """Yield the address of a server with the model."""
    command = [
        HERE.parents[1] / "build/model/bin/python",
        HERE.parents[1] / "tests/long/real/serve_model.py",
        "--port",
        "0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def main():
    """Ask what is not recorded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=60, help="tasks to keep (60)")
    parser.add_argument("--calls", type=int, default=12_000, help="recorded replies at most (12000)")
    options = parser.parse_args()
    with serving() as base_url:
        trio.run(run, Recorder(options.calls), base_url, options.tasks)


if __name__ == "__main__":
    main()
