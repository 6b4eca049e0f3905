"""The study with a real model, from its recorded replies: facts, arms, and what a fitted simulation predicts.

    python benchmarks/study/analysis.py [--seeds 20] [--simulated 2000]

Asks no model. The facts are about single replies. The arms answer every task from the recorded replies (`replay.py`),
paired by task and seed; intervals are a bootstrap over tasks. The simulated author is fitted to half of the tasks, runs
the same arms, and is compared with the measurements of the other half. Prints the tables; writes ../results/study.json
and profiles/fitted.yaml. Takes five minutes.
"""

import argparse
import json
import math
import random
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import fmean

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

from common import write
from replay import recorded, replay
from tasks import read_choice, read_pair

from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_lab.experiments.definition import ExperimentProblem
from replan_lab.experiments.equal_calls import curves_of, interpolate
from replan_lab.experiments.preparation import Installation, PreparedExperiment, prepare
from replan_lab.experiments.results import trial_from
from replan_lab.experiments.runner import run_all

REPLIES, ARMS, FITTED = HERE / "replies.jsonl", HERE / "arms.yaml", HERE / "profiles" / "fitted.yaml"
DRAWS = 2000
CONDITIONS = ("own", "none", "other")


def interval(by_task):
    """Return the mean over tasks of their means, with the 95 % interval of a bootstrap over tasks."""
    means = [fmean(values) for _, values in sorted(by_task.items()) if values]
    if not means:
        return None
    dice = random.Random(7)
    spread = sorted(fmean(dice.choices(means, k=len(means))) for _ in range(DRAWS))
    low, high = spread[int(0.025 * DRAWS)], spread[int(0.975 * DRAWS)]
    cases = sum(map(len, by_task.values()))
    return {"mean": fmean(means), "low": low, "high": high, "cases": cases, "tasks": len(means)}


# --- Facts about single replies ---


def facts(replies_by_task, rows):
    """Return the facts, by name the mean over tasks with its interval; and how often each code was found.

    What follows a wrong reply to the second call is of those answers after which every kind of finding was recorded.
    """
    right, agree, codes = defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list)), Counter()
    for name, one in replies_by_task.items():
        asked = one.task
        chosen = one.first[None]
        right["the first call is right"][name] = [choice == asked.right for choice in chosen]
        pairs = one.first[asked.right]
        right["the second call is right, after a right first one"][name] = [asked.judged(pair)[0] for pair in pairs]
        wrong_choices = [choice for choice in chosen if choice != asked.right]
        agree["two wrong replies to the first call agree"][name] = _same(wrong_choices)
        agree["two wrong replies to the second call agree"][name] = _same(
            [pair for pair in pairs if not asked.judged(pair)[0]]
        )
        below = [same for choice in asked.families if choice != asked.right for same in _same(one.first[choice])]
        agree["two replies to the second call agree, after a wrong first one"][name] = below
        for pair in pairs:
            if not asked.judged(pair)[0]:
                codes[str(asked.judged(pair)[1].code)] += 1
    stays, mended = defaultdict(lambda: defaultdict(list)), defaultdict(lambda: defaultdict(list))
    compared_answers = {(row["task"], row["after"]) for row in rows if row.get("condition") == "none"}
    for row in rows:
        if "after" not in row or row["task"] not in replies_by_task:
            continue
        asked = replies_by_task[row["task"]].task
        if row["call"] == "choice" and row["after"] != asked.right:
            key, said, got = "first", row["after"], read_choice(row["text"])
            passed = got == asked.right
        elif row["call"] == "pair" and (row["task"], row["after"]) in compared_answers:
            key, said, got = f"second {row['condition']}", read_pair(row["after"]), read_pair(row["text"])
            passed = asked.judged(got)[0]
        else:
            continue
        stays[key][row["task"]].append(got == said)
        mended[key][row["task"]].append(passed)
    table = {name: interval(values) for name, values in [*right.items(), *agree.items()]}
    table["a wrong reply to the first call stays"] = interval(stays["first"])
    table["the first call is right after a wrong reply"] = interval(mended["first"])
    for condition in CONDITIONS:
        table[f"a wrong reply to the second call stays, finding: {condition}"] = interval(stays[f"second {condition}"])
        table[f"the second call is right after it, finding: {condition}"] = interval(mended[f"second {condition}"])
    for other in CONDITIONS[1:]:
        own, against = mended["second own"], mended[f"second {other}"]
        gaps = {name: [fmean(own[name]) - fmean(against[name])] for name in own if name in against}
        table[f"lift of the own finding against: {other}"] = interval(gaps)
    return table, codes


def _same(replies):
    return [one == other for one, other in combinations(replies, 2)]


# --- Arms, with recorded replies and with the simulated author ---


@cache
def prepared():
    """Return the experiment with the arms."""
    return prepare(ARMS, Installation(registry(), HERE.parents[1], UserConfig(), {}, 0.0))


@cache
def replies_to(names):
    return recorded(REPLIES, names)


def replay_task(name, seeds):
    """Return the trials of all arms on one task, how many requests there were, and how many were not recorded."""
    replies, trials, asked, missing = replies_to((name,))[name], [], 0, 0
    for arm in prepared().arms:
        for seed in range(seeds):
            run, requests, absent = replay(arm.lab_setup, replies, seed)
            trials.append(trial_from(arm.name, ExperimentProblem(name, ""), seed, run, None))
            asked, missing = asked + requests, missing + absent
    return trials, asked, missing


def curves(trials):
    return {curve.label: curve for curve in curves_of(prepared().experiment, trials)}


def success(curve, cap):
    """Return by task the successes within a cap of calls."""
    by_task = defaultdict(list)
    for (task_name, _), (hit, _) in curve.at(cap).items():
        by_task[task_name].append(hit)
    return by_task


def compared(curve, base, cap):
    """Return the difference of an arm and the baseline at the mean calls that the baseline makes within a cap."""
    other = base.at(cap)
    target = fmean(calls for _, calls in other.values())
    own, reached = interpolate(curve, target)
    by_task = defaultdict(list)
    for pair, hit in own.items():
        by_task[pair[0]].append(hit - other[pair][0])
    return interval(by_task) | {"calls": reached, "baseline_calls": target}


# --- The fit ---


def fit(replies_by_task, rows):
    """Return the values of the profile that fit these tasks."""
    table, codes = facts(replies_by_task, rows)
    counts = [
        (sum(hits), len(hits))
        for one in replies_by_task.values()
        for hits in (
            [choice == one.task.right for choice in one.first[None]],
            [one.task.judged(pair)[0] for pair in one.first[one.task.right]],
        )
    ]
    grid = [round(0.2 * 1.15**step, 2) for step in range(30)]
    pairs = [(alpha, beta) for alpha in grid for beta in grid]
    alpha, beta = max(pairs, key=lambda pair: sum(_beta_binomial(*pair, *count) for count in counts))

    def mean(name):
        return table[name]["mean"]

    before, after = (
        mean("the second call is right, after a right first one"),
        mean("the second call is right after it, finding: own"),
    )
    lift = _odds(after) / _odds(before)
    lift_first = _odds(mean("the first call is right after a wrong reply")) / _odds(mean("the first call is right"))
    heed = math.log(lift_first) / math.log(lift) if lift != 1 else 1.0
    total = sum(codes.values())
    findings = {defect: round(codes[code] / total, 2) for code, defect in DEFECTS.items() if codes[code]}
    findings["unsatisfied"] = round(1 - sum(share for name, share in findings.items() if name != "unsatisfied"), 2)
    again = mean("two replies to the second call agree, after a wrong first one")
    return {
        "name": "fitted",
        "based_on": "base",
        "description": "Two calls, fitted to half of the tasks of the study with a real model.",
        "levels": ["part_1", "plan"],
        "causes": {"part_1": 0.5, "plan": 0.5},
        "also_hard": 1.0,
        "odds": {"alpha": alpha, "beta": beta, "first": round(lift, 3), "further": 1.0},
        "heeds": {"part_1": round(min(1.0, max(0.0, heed)), 2), "plan": 1.0},
        "favourite": {
            "part_1": _favourite(mean("two wrong replies to the first call agree")),
            "plan": _favourite(mean("two wrong replies to the second call agree")),
        },
        "findings": {"other": findings},
        "repeats": {"other": round(math.sqrt(again), 2)},
    }


DEFECTS = {
    "plan.precondition_unsatisfied": "unsatisfied",
    "plan.precondition_unordered": "unordered",
    "plan.precondition_deleted": "deleted",
    "plan.goal_unreachable": "goal",
}
"""The defect of the simulated author for each code of a finding."""


def _odds(share):
    return share / (1 - share)


def _beta_binomial(alpha, beta, hits, tries):
    """Return the logarithm of the likelihood of hits, but for a constant."""
    log_beta = lambda a, b: math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)  # noqa: E731
    return log_beta(alpha + hits, beta + tries - hits) - log_beta(alpha, beta)


def _favourite(agreement, views=8):
    """Return the share of the favourite wrong view with which two wrong replies agree this often."""
    shares = [share / 100 for share in range(100)]
    return min(shares, key=lambda share: abs(share**2 + (1 - share) ** 2 / (views - 1) - agreement))


# --- All of it ---


def main():
    """Print and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="trials of each arm on each task (20)")
    parser.add_argument("--simulated", type=int, default=2000, help="trials of each arm with the fitted author (2000)")
    options = parser.parse_args()
    rows = [json.loads(line) for line in REPLIES.read_text().splitlines()]
    replies_by_task = recorded(REPLIES)
    names = list(replies_by_task)
    table, codes = facts(replies_by_task, rows)
    for name, row in table.items():
        print(f"{name:70} {shown(row)}")
    fitted = {name: replies_by_task[name] for name in names[::2]}
    profile = fit(fitted, rows)
    FITTED.write_text(yaml_text(profile))
    with ProcessPoolExecutor() as pool:
        played = list(pool.map(replay_task, names, [options.seeds] * len(names)))
    trials = [trial for task_trials, _, _ in played for trial in task_trials]
    asked, missing = (sum(each[position] for each in played) for position in (1, 2))
    arms, experiment = curves(trials), prepared().experiment
    base = arms[experiment.baseline]
    measured = {
        label: {
            "success": {cap: interval(success(curve, cap)) for cap in experiment.caps},
            "at_equal_calls": None if curve is base else compared(curve, base, experiment.baseline_cap),
        }
        for label, curve in arms.items()
    }
    simulation = prepared().experiment.model_copy(
        update={"seeds": experiment.seeds.model_copy(update={"count": options.simulated})}
    )
    own = prepared()
    simulated = curves(run_all(PreparedExperiment(simulation, own.problems, own.arms), lambda *_: None))
    other_half = curves([trial for trial in trials if trial.problem in names[1::2]])
    prediction = [
        {
            "arm": label,
            "cap": cap,
            "predicted": fmean(hit for hit, _ in simulated[label].at(cap).values()),
            "measured": interval(success(curve, cap)),
        }
        for label, curve in other_half.items()
        for cap in experiment.caps
    ]
    gains = {
        label: {
            "predicted": compared(simulated[label], simulated[experiment.baseline], experiment.baseline_cap)["mean"],
            "measured": compared(curve, other_half[experiment.baseline], experiment.baseline_cap),
        }
        for label, curve in other_half.items()
        if label != experiment.baseline
    }
    for label, row in measured.items():
        print(f"{label:22}", *(f"{cap}: {100 * each['mean']:.0f}" for cap, each in row["success"].items()),
              shown(row["at_equal_calls"]))  # fmt: skip
    for label, row in gains.items():
        print(f"{label:22} predicted {100 * row['predicted']:+.1f}, measured {shown(row['measured'])}")
    error = fmean(abs(row["predicted"] - row["measured"]["mean"]) for row in prediction)
    print(f"mean error of the prediction: {100 * error:.1f} points; {missing} of {asked} requests were not recorded")
    results = {
        "tasks": len(names), "replies": len(rows), "seeds": options.seeds, "simulated": options.simulated,
        "not_recorded": round(missing / asked, 4), "facts": table, "codes": dict(codes), "arms": measured,
        "profile": profile, "prediction": prediction, "gains": gains, "error": error,
    }  # fmt: skip
    write("study", rounded(results))


def shown(row):
    if row is None:
        return ""
    return f"{100 * row['mean']:+.1f} ({100 * row['low']:.1f} to {100 * row['high']:.1f}), {row['tasks']} tasks"


def rounded(value):
    if isinstance(value, dict):
        return {str(key): rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def yaml_text(profile):
    lines = ["# yaml-language-server: $schema=../../../packages/lab/configs/schemas/profile.schema.json"]
    lines += ["# Written by analysis.py from the replies to half of the tasks."]
    return "\n".join([*lines, *(f"{key}: {json.dumps(value)}" for key, value in profile.items())]) + "\n"


if __name__ == "__main__":
    main()
