"""What suggested repairs in findings bring: success within the same calls, with and without them, on problems in PDDL.

    python benchmarks/bench_repairs.py [--problems N] [--model URL] [--minutes M] [--model-problems N]

Each author has `CALLS` answers for a problem; after each one it is told the findings of the guard `pddl_actions`, as
`replan lab pddl run` tells them. One arm is told the suggested repairs, the other is told the same without them; both
begin with the same seeds.

The simulated author writes the shortest plan with mistakes (an action left out, swapped or with another object, each
with the chance ERROR). After a rejection it takes up the first suggestion with the chance `heeds`. Where it does not,
or where there is none, it thinks the rest of the plan through with the chance `skill`, or changes the failing action at
random. So what a suggestion is worth is not assumed: one that leads away from the goal costs a call.

`--model` is the address of `make serve-model`: SmolLM2-135M writes the actions itself, with the shipped prompt. Both
arms of a problem are always completed, within about M minutes. Prints tables, writes results/repairs.json.
"""

import argparse
import itertools
import json
import math
import random
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common import provenance_of, table, write

from actors.prompting.book import load_prompts
from actors.prompting.render import PromptTemplate, render
from actors.values.artifacts import Context, Feedback
from packages.lab.tests.pddl.worlds import BLOCKS
from replan.setup.installation import data_root
from replan_lab.pddl.action_list import actions_in
from replan_lab.pddl.domain import PlanAction
from replan_lab.pddl.domain_reader import PddlTexts, specification, task_in
from replan_lab.pddl.grounding import ground_action, holds, invalidity_of
from replan_lab.pddl.judging import judge_actions
from runtime.models.replies import Parsed, read_reply

ROOT = Path(__file__).resolve().parents[1]
CALLS = 6
ERROR = 0.35
SKILLS, HEEDS = (0.1, 0.3, 0.6), (0.5, 0.9)
DELIVERY = """(define (domain delivery)
  (:requirements :typing :negative-preconditions)
  (:types robot room)
  (:predicates (in ?r - robot ?x - room) (parcel ?x - room) (carries ?r - robot))
  (:action take :parameters (?r - robot ?x - room)
    :precondition (and (in ?r ?x) (parcel ?x) (not (carries ?r)))
    :effect (and (carries ?r) (not (parcel ?x))))
  (:action move :parameters (?r - robot ?from ?to - room)
    :precondition (in ?r ?from)
    :effect (and (in ?r ?to) (not (in ?r ?from))))
  (:action drop :parameters (?r - robot ?x - room)
    :precondition (and (in ?r ?x) (carries ?r))
    :effect (and (parcel ?x) (not (carries ?r)))))
"""


def delivery(chance):
    """Return a problem with a robot, a parcel and two to four rooms."""
    rooms = ["kitchen", "hall", "cellar", "attic"][: chance.randint(2, 4)]
    start, here, there = chance.choice(rooms), *chance.sample(rooms, 2)
    return (
        f"(define (problem p) (:domain delivery) (:objects walle - robot {' '.join(rooms)} - room)\n"
        f"  (:init (in walle {start}) (parcel {here}))\n  (:goal (parcel {there})))"
    )


def blocks(chance, most=4):
    """Return a problem with two to four blocks in towers."""
    names = list("abcd")[: chance.randint(2, most)]
    init, goal = towers(chance, names), towers(chance, names)
    under = {fact.split()[2].rstrip(")") for fact in init if fact.startswith("(on ")}
    init += [f"(clear {name})" for name in names if name not in under] + ["(handempty)"]
    return (
        f"(define (problem p) (:domain blocks) (:objects {' '.join(names)} - block)\n"
        f"  (:init {' '.join(init)})\n  (:goal (and {' '.join(goal)})))"
    )


def towers(chance, names):
    """Return where each block stands: on the table, or on the one before it."""
    order = chance.sample(names, len(names))
    on = [index > 0 and chance.random() < 0.6 for index in range(len(order))]
    return [f"(on {name} {order[index - 1]})" if on[index] else f"(ontable {name})" for index, name in enumerate(order)]


class Task:
    """One problem, with its shortest plans."""

    def __init__(self, domain, problem):
        self.texts = PddlTexts(domain=domain, problem=problem)
        self.domain, self.problem = task_in(self.texts)
        names = list(self.problem.objects)
        every = (
            PlanAction(schema.name, arguments)
            for schema in self.domain.actions.values()
            for arguments in itertools.product(names, repeat=len(schema.parameters))
        )
        self.actions = [each for each in every if not invalidity_of(each, self.domain, self.problem)]

    def after(self, state, action):
        """Return the state after an action, or None where it cannot run."""
        ground = ground_action(action, self.domain)
        if not ground.can_run_in(state):
            return None
        [change] = ground.outcomes(state)
        return change.apply_to(frozenset(state))

    def shortest(self, state):
        """Return a shortest plan from a state; None where there is none."""
        queue, seen = [(frozenset(state), ())], {frozenset(state)}
        for now, plan in queue:
            if all(holds(literal, now) for literal in self.problem.goal):
                return list(plan)
            for action in self.actions:
                then = self.after(now, action)
                if then is not None and then not in seen:
                    seen.add(then)
                    queue.append((then, (*plan, action)))
        return None

    def judged(self, actions):
        """Return whether a plan solves the problem, the place of its first failure, the finding, and the repairs."""
        judgement = judge_actions(self.domain, self.problem, actions)
        if judgement.verdict.passed:
            return True, 0, [], ()
        place = len(actions) if judgement.failure is None else judgement.failure.index
        return False, place, list(judgement.verdict.errors), judgement.repairs


def tasks(count, seed, *, longest, domains):
    """Return problems whose goal does not hold yet and whose shortest plan has at most `longest` actions."""
    chance, found = random.Random(seed), []
    while len(found) < count:
        kind = domains[len(found) % len(domains)]
        task = Task(DELIVERY, delivery(chance)) if kind == "delivery" else Task(BLOCKS, blocks(chance, min(4, longest)))
        plan = task.shortest(task.problem.initial)
        if plan and len(plan) <= longest:
            found.append(task)
    return found


class SimulatedAuthor:
    """An author that makes mistakes, and mends them with some skill or by a suggestion."""

    def __init__(self, task, seed, skill, heeds):
        self.task, self.chance, self.skill, self.heeds = task, random.Random(seed), skill, heeds
        self.plan = self._slips(task.shortest(task.problem.initial))

    def _slips(self, plan):
        """Return a plan with mistakes."""
        result = []
        for action in plan:
            kind = self.chance.choice(("drop", "swap", "object")) if self.chance.random() < ERROR else ""
            if kind == "object":
                result.append(self._other(action))
            elif kind == "swap" and result:
                result.insert(-1, action)
            elif kind != "drop":
                result.append(action)
        return result

    def _other(self, action):
        """Return the action with another object, if there is one."""
        same = [each for each in self.task.actions if each.name == action.name and each != action]
        return self.chance.choice(same) if same else action

    def told(self, place, repairs):
        """Mend the plan after a rejection at a place."""
        if repairs and self.chance.random() < self.heeds:
            self.plan = [*self.plan[:place], self._named(repairs[0].action), *self.plan[place:]]
        elif self.chance.random() < self.skill:
            state = frozenset(self.task.problem.initial)
            for action in self.plan[:place]:
                state = self.task.after(state, action)
            rest = self.task.shortest(state)
            self.plan = [*self.plan[:place], *self._slips(rest or [])]
        elif place < len(self.plan) and self.chance.random() < 0.5:
            self.plan[place] = self._other(self.plan[place])
        else:
            self.plan = [*self.plan[:place], self.chance.choice(self.task.actions), *self.plan[place:]]

    def _named(self, text):
        """Return an action that a suggestion describes; where it leaves an object open, one is drawn."""
        name, *terms = text.strip("()").split()
        fits = [
            each
            for each in self.task.actions
            if each.name == name
            and all(term in (own, f"?{term[1:]}") for term, own in zip(terms, each.arguments, strict=True))
        ]
        return self.chance.choice(fits or self.task.actions)


def simulated(task, seed, skill, heeds):
    """Return the number of the answer that solved the problem, or 0; without suggestions where `heeds` is None."""
    author = SimulatedAuthor(task, seed, skill, heeds)
    for call in range(1, CALLS + 1):
        solved, place, _, repairs = task.judged(author.plan)
        if solved:
            return call
        author.told(place, repairs if heeds is not None else ())
    return 0


ACTIONS_SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "actions": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["reasoning", "actions"],
    "additionalProperties": False,
}


def by_model(url, task, seed, *, suggests):
    """Return the same for a model, and how many later answers held an action that had been suggested."""
    prompts = data_root("replan_lab") / "prompts" / "pddl.yaml"
    book, _ = load_prompts(prompts, ROOT / "prompts" / "planning.yaml")
    template = PromptTemplate(book.entries["actions"], book)
    retry, suggested, taken = (), set(), 0
    for call in range(1, CALLS + 1):
        context = Context(specification=specification(task.texts), retry=retry)
        prompt = render(template, context)
        reply = asked(url, prompt.system, prompt.user, seed * CALLS + call)
        parsed = read_reply(reply)
        actions, errors = actions_in(parsed.value) if isinstance(parsed, Parsed) else ([], ())
        taken += any(str(action) in suggested for action in actions)
        if errors or not isinstance(parsed, Parsed):
            found = [finding.message for finding in errors] or [parsed.message]
        else:
            solved, _, findings, repairs = task.judged(actions)
            if solved:
                return call, taken
            found = [f"{finding.code}: {finding.message}" for finding in findings]
            suggested |= {repair.action for repair in repairs}
            if not suggests:
                sentences = [repair.sentence for repair in repairs]
                found = [without(text, sentences) for text in found]
        retry = (*retry, Feedback(f"g_actions/v1.a{call}", "\n".join(found)))[-2:]
    return 0, taken


def without(text, sentences):
    """Return a message without the suggestions at its end."""
    for sentence in sentences:
        text = text.replace(f" {sentence}", "")
    return text


def asked(url, system, user, seed):
    """Return the model's reply."""
    form = {"type": "json_schema", "json_schema": {"name": "actions", "schema": ACTIONS_SCHEMA, "strict": True}}
    body = {
        "model": "smollm2",
        "messages": [{"role": "system", "content": system}, {"role": "user", "content": user}],
        "max_tokens": 200,
        "temperature": 0.7,
        "seed": seed,
        "response_format": form,
    }
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def compared(without_them, with_them):
    """Return the success of two arms over the same problems, and their difference with a 95 % interval."""
    count = len(with_them)
    deltas = [bool(own) - bool(other) for own, other in zip(with_them, without_them, strict=True)]
    mean = sum(deltas) / count
    spread = math.sqrt(sum((delta - mean) ** 2 for delta in deltas) / max(1, count - 1) / count)
    return {
        "problems": count,
        "without": sum(map(bool, without_them)) / count,
        "with": sum(map(bool, with_them)) / count,
        "delta": mean,
        "low": mean - 1.96 * spread,
        "high": mean + 1.96 * spread,
        "calls_without": sum(each or CALLS for each in without_them) / count,
        "calls_with": sum(each or CALLS for each in with_them) / count,
    }


def main():
    """Run both authors, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=400, help="problems for the simulated author (400)")
    parser.add_argument(
        "--model", default="", help="the base URL of a model's server, such as http://127.0.0.1:8080/v1"
    )
    parser.add_argument("--minutes", type=float, default=15, help="about how long the model is asked (15)")
    parser.add_argument("--model-problems", type=int, default=40, help="the most problems for the model (40)")
    options = parser.parse_args()
    results = {**provenance_of(), "calls": CALLS, "error": ERROR, "simulated": [], "model": None}
    found = tasks(options.problems, 1, longest=12, domains=("delivery", "blocks"))
    for skill in SKILLS:
        plain = [simulated(task, seed, skill, None) for seed, task in enumerate(found)]
        for heeds in HEEDS:
            helped = [simulated(task, seed, skill, heeds) for seed, task in enumerate(found)]
            results["simulated"].append({"skill": skill, "heeds": heeds, **compared(plain, helped)})
    if options.model:
        results["model"] = measured(options)
    rows = [(f"simulated, skill {each['skill']}, heeds {each['heeds']}", *cells(each)) for each in results["simulated"]]
    if results["model"]:
        rows.append(("SmolLM2-135M", *cells(results["model"])))
    heads = ("author", "problems", "without", "with", "difference (95 %)", "calls without", "calls with")
    print(table(heads, rows))
    if results["model"]:
        print(
            f"answers with a suggested action: {results['model']['taken_without']} and {results['model']['taken_with']}"
        )
    write("repairs", results)


def measured(options):
    """Ask the model for small problems, both arms of each, until the time is over."""
    small = tasks(options.model_problems, 2, longest=3, domains=("delivery", "blocks"))
    until, rows = time.monotonic() + 60 * options.minutes, []
    for seed, task in enumerate(small):
        if time.monotonic() > until:
            break
        rows.append([by_model(options.model, task, seed, suggests=suggests) for suggests in (False, True)])
    plain, helped = ([row[arm][0] for row in rows] for arm in (0, 1))
    taken = [sum(row[arm][1] for row in rows) for arm in (0, 1)]
    return {**compared(plain, helped), "taken_without": taken[0], "taken_with": taken[1]}


def cells(each):
    """Return a row of the table."""
    shares = (f"{100 * each['without']:.0f} %", f"{100 * each['with']:.0f} %")
    delta = f"{100 * each['delta']:+.0f} ({100 * each['low']:+.0f} to {100 * each['high']:+.0f})"
    return (each["problems"], *shares, delta, f"{each['calls_without']:.1f}", f"{each['calls_with']:.1f}")


if __name__ == "__main__":
    main()
