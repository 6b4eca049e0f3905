"""The pilot of the study with a real model: four facts that decide what a policy can gain, from about 600 calls.

    python benchmarks/study_pilot.py [--calls 700] [--table]

Needs `make model`. The tasks have two actions to choose and to order out of four; `plan_medium` judges the plan that a
reply stands for, and its finding is the feedback. The facts are how often two right replies to the same request agree,
how often two wrong ones do, how often a wrong reply stays after a finding, and by what a finding lifts success, against
no finding and against the finding of another task.

Every reply is recorded by its exact request in results/study_pilot.jsonl; what is recorded is not asked again, and
`--table` asks nothing. Prints the facts, writes results/study_pilot.json.
"""

import argparse
import json
import random
import subprocess
import sys
from collections import defaultdict
from contextlib import contextmanager
from itertools import combinations, permutations

import trio
from common import HERE, write

sys.path.insert(0, str(HERE.parent))

from actors.guards.built_in import BUILT_IN
from actors.values.artifacts import Artifact, Context
from runtime.core.events import text_hash
from runtime.models.openai import open_openai
from runtime.models.port import ModelRequest, Reply

RECORDED = HERE / "results" / "study_pilot.jsonl"
MODEL = "smollm2"
TEMPERATURE = 0.8
SAMPLES = 10
"""Replies to the first request of each task."""
SCREENED = (0.1, 0.6)
"""The shares of right replies between which a task is kept: others say nothing about feedback."""
TASKS = 90
CONDITIONS = ("own", "none", "other")
"""What a second request says of the first reply: its finding, that it was wrong, or the finding of another task."""
SYSTEM = (
    "Choose two of the actions and put them in order, so that the goal holds at the end. An action can be done when "
    'what it needs is there. Answer with JSON: {"first": ACTION, "second": ACTION}.'
)
BREAD = """\
There is: dough. Goal: sold bread.
Actions:
bake: needs dough, makes bread
sell: needs bread, makes sold bread
paint: needs colour, makes picture
wash: needs water, makes clean cup"""
SOUP = """\
There is: seed. Goal: soup.
Actions:
cook: needs carrot, makes soup
sew: needs cloth, makes shirt
grow: needs seed, makes carrot
read: needs book, makes idea"""
SHOTS = ((BREAD, ("bake", "sell")), (SOUP, ("grow", "cook")))
WORDS = (  # Threes: what is there, what is made of it, and what is made of that.
    *("wood", "plank", "table", "clay", "brick", "wall", "wool", "yarn", "scarf", "milk", "cheese", "pizza"),
    *("iron", "nail", "box", "sand", "glass", "window", "wheat", "flour", "cake", "grape", "juice", "wine"),
    *("cocoa", "bar", "gift", "leather", "strap", "bag", "paper", "letter", "parcel", "stone", "gravel", "road"),
    *("oil", "soap", "bath"),
)
VERBS = (
    *("saw", "build", "shape", "lay", "spin", "knit", "churn", "top", "forge", "hammer"),
    *("melt", "fit", "mill", "stir", "press", "age", "roast", "wrap", "tan", "stitch"),
)


def tasks():
    """Return the tasks: name, text, start, goal, and for each action what it needs and makes."""
    made = []
    for number in range(TASKS):
        dice = random.Random(number)
        start, middle, goal, *others = dice.sample(WORDS, 7)
        verbs = dice.sample(VERBS, 4)
        # One distractor makes the goal from what is not there, another makes something else from what is there.
        actions = [(start, middle), (middle, goal), (others[0], goal), (start, others[1])]
        if number % 3 == 0:  # Two ways to the goal: both orders of the distractor do not reach it, a second pair does.
            actions[2] = (others[1], goal)
        order = dice.sample(range(4), 4)
        listed = {verbs[index]: actions[index] for index in order}
        lines = "\n".join(f"{verb}: needs {needs}, makes {makes}" for verb, (needs, makes) in listed.items())
        made.append({
            "name": f"t{number:02d}",
            "text": f"There is: {start}. Goal: {goal}.\nActions:\n{lines}",
            "start": start,
            "goal": goal,
            "actions": listed,
        })  # fmt: skip
    return made


def judged(task, pair):
    """Return whether a plan with two actions in order is right, and the first finding of the guard."""
    steps = []
    for position, verb in enumerate(pair):
        needs, makes = task["actions"][verb]
        steps.append({
            "step_id": f"{'first' if position == 0 else 'second'}_{verb}", "name": verb, "generator": "coder",
            "guard": "syntax", "retry_budget": 1, "dependencies": [steps[0]["step_id"]] if position else [],
            "preconditions": [needs], "effects": [makes],
        })  # fmt: skip
    plan = {
        "plan_id": "p",
        "goal": "g",
        "initial_state": [task["start"]],
        "goal_state": [task["goal"]],
        "total_retry_budget": 2,
        "steps": steps,
    }
    verdict = BUILT_IN["plan_medium"]({})(Artifact("n", "plan", json.dumps(plan)), Context(task["text"]))
    return verdict.passed, verdict.errors[0].message if verdict.errors else ""


def prompt(task, said=None, finding=""):
    """Return the user message: two worked examples, the task, and what was said of an earlier reply."""
    shown = [f"{text}\nAnswer: {as_json(pair)}" for text, pair in SHOTS]
    text = "\n\n".join([*shown, task["text"]])
    if said is not None:
        text += f"\n\nThe answer {as_json(said)} is wrong. {finding}".rstrip() + "\nGive another answer."
    return f"{text}\nAnswer:"


def as_json(pair):
    return json.dumps({"first": pair[0], "second": pair[1]})


def schema(task):
    verbs = {"enum": list(task["actions"])}
    return {
        "type": "object",
        "properties": {"first": verbs, "second": verbs},
        "required": ["first", "second"],
        "additionalProperties": False,
    }


class Bank:
    """The recorded replies by exact request, and the server that gives those that are missing."""

    def __init__(self, limit):
        lines = RECORDED.read_text().splitlines() if RECORDED.exists() else []
        self.replies = {row["key"]: row for row in map(json.loads, lines)}
        self.limit, self.model, self.asked = limit, None, 0

    async def reply(self, task, user, sample, **facts):
        """Return the pair that a reply names; None where the limit is reached."""
        key = text_hash(json.dumps([SYSTEM, user, schema(task), MODEL, TEMPERATURE, sample]))[:32]
        if key not in self.replies:
            if self.model is None or len(self.replies) + self.asked >= self.limit:
                return None
            self.asked += 1
            request = ModelRequest(
                request_id="pilot/v1.a1", purpose="pilot", system=SYSTEM, user=user, timeout_seconds=300.0,
                output_tokens_max=60, schema=schema(task), fields={"temperature": TEMPERATURE, "seed": sample},
            )  # fmt: skip
            found = await self.model.complete(request)
            self.asked -= 1
            assert isinstance(found, Reply), found
            row = {"key": key, "task": task["name"], "sample": sample, **facts, "text": found.text}
            self.replies[key] = row
            with RECORDED.open("a") as file:
                file.write(json.dumps(row) + "\n")
        value = json.loads(self.replies[key]["text"])
        return value["first"], value["second"]


async def collect(bank):
    """Return for each task its first replies, and for each wrong one the replies under each condition."""
    first, second = defaultdict(list), defaultdict(list)
    known = {task["name"]: task for task in tasks()}
    limiter = trio.CapacityLimiter(2)

    async def ask(task, user, sample, keep, **facts):
        async with limiter:
            pair = await bank.reply(task, user, sample, **facts)
        if pair is not None:
            keep(pair)

    async with trio.open_nursery() as nursery:
        for task in known.values():
            for sample in range(4):
                nursery.start_soon(
                    lambda t=task, s=sample: ask(t, prompt(t), s, first[t["name"]].append, asked="first")
                )
    kept = [
        name for name, pairs in first.items()
        if SCREENED[0] <= sum(judged(known[name], pair)[0] for pair in pairs) / len(pairs) <= SCREENED[1]
    ]  # fmt: skip
    kept.sort()
    async with trio.open_nursery() as nursery:
        for name in kept:
            for sample in range(4, SAMPLES):
                nursery.start_soon(
                    lambda t=known[name], s=sample: ask(t, prompt(t), s, first[t["name"]].append, asked="first")
                )
    wrong = {name: sorted({pair for pair in first[name] if not judged(known[name], pair)[0]}) for name in kept}
    findings = {name: [judged(known[name], pair)[1] for pair in pairs] for name, pairs in wrong.items()}
    async with trio.open_nursery() as nursery:
        for name in kept:
            other = kept[(kept.index(name) + 1) % len(kept)]
            for pair in wrong[name][:2]:
                own = judged(known[name], pair)[1]
                texts = {"own": own, "none": "", "other": (findings[other] or [own])[0]}
                for condition in CONDITIONS:
                    for sample in (0, 1):
                        keep = lambda got, key=(name, pair, condition): second[key].append(got)  # noqa: E731
                        user = prompt(known[name], pair, texts[condition])
                        nursery.start_soon(
                            lambda t=known[name], u=user, s=sample, k=keep, c=condition: ask(t, u, s, k, asked=c)
                        )
    return known, kept, first, second


def facts(known, kept, first, second):
    """Return the four facts, each a share with the number of cases and an interval clustered by task."""
    agree = {"right": defaultdict(list), "wrong": defaultdict(list)}
    success = defaultdict(list)
    for name in kept:
        for one, other in combinations(first[name], 2):
            ends = judged(known[name], one)[0], judged(known[name], other)[0]
            if ends[0] == ends[1]:
                agree["right" if ends[0] else "wrong"][name].append(one == other)
        success[name] = [judged(known[name], pair)[0] for pair in first[name]]
    stays, mended = defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list))
    for (name, pair, condition), pairs in second.items():
        stays[condition][name] += [got == pair for got in pairs]
        mended[condition][name] += [judged(known[name], got)[0] for got in pairs]
    rows = {
        "right at the first request": share(success),
        "two right replies agree": share(agree["right"]),
        "two wrong replies agree": share(agree["wrong"]),
    }
    for condition in CONDITIONS:
        rows[f"the wrong reply stays, finding: {condition}"] = share(stays[condition])
        rows[f"right at the second request, finding: {condition}"] = share(mended[condition])
    for other in ("none", "other"):
        rows[f"lift of the own finding against: {other}"] = difference(mended["own"], mended[other])
    return rows


def share(by_task, draws=2000):
    """Return a share over tasks, with the 95 % interval of a bootstrap over tasks."""
    names = sorted(name for name, values in by_task.items() if values)
    if not names:
        return {"share": None, "cases": 0, "tasks": 0}
    dice, sums = random.Random(7), {name: (sum(by_task[name]), len(by_task[name])) for name in names}

    def mean(chosen):
        return sum(sums[name][0] for name in chosen) / sum(sums[name][1] for name in chosen)

    spread = sorted(mean(dice.choices(names, k=len(names))) for _ in range(draws))
    low, high = spread[int(0.025 * draws)], spread[int(0.975 * draws)]
    cases = sum(count for _, count in sums.values())
    return {
        "share": round(mean(names), 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "cases": cases,
        "tasks": len(names),
    }


def difference(own, other, draws=2000):
    """Return the difference of two shares, paired by task, with the 95 % interval of a bootstrap over tasks."""
    names = sorted(name for name in own if own[name] and other[name])
    if not names:
        return {"share": None, "cases": 0, "tasks": 0}
    gaps = {name: sum(own[name]) / len(own[name]) - sum(other[name]) / len(other[name]) for name in names}
    dice = random.Random(7)
    spread = sorted(sum(gaps[name] for name in dice.choices(names, k=len(names))) / len(names) for _ in range(draws))
    low, high = spread[int(0.025 * draws)], spread[int(0.975 * draws)]
    mean = sum(gaps.values()) / len(names)
    return {
        "share": round(mean, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "cases": len(names),
        "tasks": len(names),
    }


async def run(bank, base_url):
    """Collect from what is recorded, and from the server at an address; without one nothing is asked."""
    if base_url is None:
        return await collect(bank)
    async with open_openai(MODEL, base_url=base_url) as bank.model:
        return await collect(bank)


@contextmanager
def serving(wanted):
    """Yield the address of a server with the model; None where none is wanted."""
    if not wanted:
        yield None
        return
    command = [HERE.parent / "build/model/bin/python", HERE.parent / "tests/real/serve_model.py", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


def main():
    """Ask what is not recorded; print and write the facts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=700, help="recorded replies at most (700)")
    parser.add_argument("--table", action="store_true", help="ask nothing: only what is recorded counts")
    options = parser.parse_args()
    bank = Bank(options.calls)
    with serving(not options.table) as base_url:
        known, kept, first, second = trio.run(run, bank, base_url)
    chance = sum(
        judged(known[name], pair)[0] for name in kept for pair in permutations(known[name]["actions"], 2)
    ) / max(1, 12 * len(kept))
    rows = facts(known, kept, first, second)
    for name, row in rows.items():
        print(f"{name:55} {row}")
    print(f"{len(kept)} of {len(known)} tasks kept, {len(bank.replies)} replies; by chance {chance:.3f} would be right")
    write(
        "study_pilot",
        {
            "tasks": len(known),
            "kept": len(kept),
            "replies": len(bank.replies),
            "by_chance": round(chance, 3),
            "facts": rows,
        },
    )


if __name__ == "__main__":
    main()
