"""The share of the prompts' bytes that a provider's prompt cache can serve.

    python benchmarks/bench_prompts.py [--trials N]

The prompts are those of whole runs: the histories of `tests/histories` with a shipped workflow, those with a workflow
of toys, and runs of the laboratory with each search. A cache is supposed to keep everything of a run for as long as it
lasts, in any length, so a share is the most that can be served. What is counted:

- all prompts: the bytes at the start of each prompt that are the start of an earlier prompt of the same run;
- later prompts of a step: likewise, without the first prompt of each step;
- later, marks alone: the bytes up to the last mark at which an earlier prompt of the run has the same start.

Each is counted for today's order of a prompt's parts, and for the order before. There the task came last and the later
requirements first, and only the end of the system message could be marked.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_lab import FIRST_SEED, PROBLEM, SEARCHES, make_setup
from common import provenance_of, table, write

from actors.prompting import render
from actors.run.calls import CallReissued, CallRequested
from replan_lab.experiments.simulation import simulate_run
from tests.histories.interpreter import Interpreter
from tests.histories.test_histories import HISTORIES, RULE, commands

GOAL = 0.80
"""Of the bytes of prompts, at least."""
SETS = {"searches": "searches", "shipped": "shipped workflows", "toys": "toys"}
COUNTS = {"all": "all prompts", "later": "later prompts of a step", "marks": "later, marks alone"}
PARTS = (
    "constraints",
    "guard_catalog",
    "specification",
    "attachments",
    "given",
    "requirements",
    "clarifications",
    "notes",
    "dependencies",
)
"""What the parts before the task are made from, in today's order."""
BEFORE = (
    "constraints",
    "requirements",
    "guard_catalog",
    "specification",
    "attachments",
    "dependencies",
    "given",
    "clarifications",
    "notes",
    "rejections",
    "task",
)
"""All parts, in the order before."""


@dataclass(frozen=True)
class Prompt:
    """A prompt as bytes, and the lengths of the starts of it that can be marked."""

    step: str
    whole: bytes
    marks: tuple[int, ...]

    @classmethod
    def of(cls, step, system, user, *ends):
        """Return the prompt of two messages; `ends` are the places in the user message that can be marked."""
        start = f"{system}\0".encode()
        return cls(step, start + user.encode(), (len(start), *(len(start) + len(user[:end].encode()) for end in ends)))


class Recorder:
    """A context manager that records the context of each rendered prompt, by the prompt's hash."""

    def __init__(self):
        self._sources = {}
        self._render = render._render_parts  # noqa: SLF001 - what a prompt is rendered from is kept nowhere
        self._patch = patch.object(render, "_render_parts", self._record)

    def __enter__(self):
        self._patch.start()
        return self

    def __exit__(self, *_):
        self._patch.stop()

    def prompts(self, events):
        """Return the prompts that a run has sent, each as it is today and as it was before."""
        pairs = []
        for event in events:
            request = event.again if isinstance(event, CallReissued) else event
            if isinstance(request, CallRequested) and request.prompt_hash in self._sources:
                template, shown, headed, prompt = self._sources[request.prompt_hash]
                before = self._before(template, shown, headed, prompt)
                now = Prompt.of(request.step, prompt.system, prompt.user, *prompt.repeated)
                pairs.append((now, Prompt.of(request.step, prompt.system, before)))
        return pairs

    def _record(self, template, shown, headed):
        prompt = self._render(template, shown, headed)
        self._sources[prompt.ref] = (template, shown, headed, prompt)
        return prompt

    def _before(self, template, shown, headed, prompt):
        """Return a user message in the order before. A part is as long as the message is longer than without it."""
        task = f"{template.book.sections.task}\n\n{template.entry.task}"
        lengths = {}
        for name in PARTS:
            value = getattr(shown, name)
            if name != "specification":  # Of which the message has the heading even where it is empty.
                without = shown._replace(**{name: type(value)()})
                lengths[name] = prompt.common - self._render(template, without, headed).common
        lengths["specification"] = prompt.common - len(task) - sum(lengths.values())
        texts, start = {}, 0
        for name in PARTS:
            texts[name] = prompt.user[start : start + lengths[name]].removesuffix("\n\n")
            start += lengths[name]
        texts["task"] = prompt.user[start : prompt.common]
        texts["rejections"] = prompt.user[prompt.common :].removeprefix("\n\n")
        message = "\n\n".join(texts[name] for name in BEFORE if texts[name])
        assert texts["task"] == task
        assert sorted(message) == sorted(prompt.user), "a part is lost"
        return message


class Tally:
    """The bytes that were sent and those that a cache could serve, by count and order."""

    def __init__(self):
        self.sent, self.served, self.prompts = Counter(), Counter(), Counter()

    def add(self, pairs):
        """Add the prompts of one run."""
        for order, run in zip(("now", "before"), zip(*pairs, strict=True), strict=False):
            self._add(order, run)

    def shares(self):
        """Return the shares by count, and the numbers of prompts."""
        counted = {"prompts": self.prompts["all"], "later_prompts": self.prompts["later"]}
        return counted | {
            name: {
                order: round(self.served[name, order] / self.sent[name, order], 4) if self.sent[name, order] else None
                for order in ("before", "now")
            }
            for name in COUNTS
        }

    def _add(self, order, run):
        marked, steps = set(), set()
        for number, prompt in enumerate(run):
            served = {"all": max((common(prompt.whole, each.whole) for each in run[:number]), default=0)}
            if prompt.step in steps:
                served["later"] = served["all"]
                served["marks"] = max((mark for mark in prompt.marks if prompt.whole[:mark] in marked), default=0)
            for name, size in served.items():
                self.sent[name, order] += len(prompt.whole)
                self.served[name, order] += size
                self.prompts[name] += order == "now"
            marked.update(prompt.whole[:mark] for mark in prompt.marks)
            steps.add(prompt.step)


def common(one, other):
    """Return the length of the start that two prompts have in common."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if one[:middle] == other[:middle] else (least, middle - 1)
    return least


def of_searches(trials):
    """Return the tally of the laboratory's runs, the same number with each search."""
    tally = Tally()
    for search in SEARCHES:
        setup = make_setup(search)
        for seed in range(FIRST_SEED, FIRST_SEED + trials):
            with Recorder() as recorder:
                _, events = simulate_run(setup, PROBLEM, seed)
            tally.add(recorder.prompts(events))
    return tally


def of_histories(*, shipped):
    """Return the tally of the histories with a shipped workflow, or of the others."""
    tally = Tally()
    for path in HISTORIES:
        text = path.read_text(encoding="utf-8")
        if any(line.startswith("shipped ") for line in text.splitlines()) is shipped:
            with Recorder() as recorder:
                interpreter = Interpreter()
                for paragraph in text.strip().split("\n\n"):
                    for command, indented in commands(paragraph.split(f"\n{RULE}")[0]):
                        interpreter.execute(command, indented)
            tally.add(recorder.prompts(interpreter.events))
    return tally


def tables(results):
    """Return the results as a table."""
    rows = []
    for name, title in SETS.items():
        shares = results["shares"][name]
        pairs = (f"{shares[count]['before']:.0%} to {shares[count]['now']:.0%}" for count in COUNTS)
        rows.append((title, f"{shares['prompts']:,}, {shares['later_prompts']:,}", *pairs))
    searches = results["shares"]["searches"]
    met = [f"{what} {'met' if searches[each]['now'] >= GOAL else '**missed**'}" for each, what in COUNTS.items()]
    return (
        "Bytes of prompts that a prompt cache can serve, with a prompt's parts in the order before and now:\n\n"
        + table(["prompts of", "prompts, later ones", *COUNTS.values()], rows)
        + f"\n\nGoal, at least {GOAL:.0%} in the searches: {'; '.join(met)}. The first prompt of a step shares little."
    )


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50, help="runs of the laboratory for each search (50)")
    options = parser.parse_args()
    results = provenance_of("pydantic", "pydantic-core", "orjson")
    results["shares"] = {
        "searches": of_searches(options.trials).shares(),
        "shipped": of_histories(shipped=True).shares(),
        "toys": of_histories(shipped=False).shares(),
    }
    print(tables(results))
    write("prompts", results)


if __name__ == "__main__":
    main()
