"""Random plans to execute, from a seed: chains with recoveries and going back, policies, and branches by outcomes."""

import random

from actors.execution.replan_rules import guard_of, prove
from tests.execution.stage import plan, step, tools_for


def random_plan(chance):
    """Return a plan as JSON: most are proved by `plan_expansive`, and the others at least by `plan_minimal`."""
    count, tokens, steps, contingent = chance.randint(1, 6), ["start"], [], 0
    for number in range(count):
        step_id, made = f"s{number}", f"t{number}"
        needs = chance.sample(tokens, min(len(tokens), chance.randint(1, 2)))
        before = [each["step_id"] for each in steps if not each["step_id"].startswith("r")]
        after = [each for each in before if chance.random() < 0.4]
        deletes = [token for token in tokens[1:] if chance.random() < 0.08]
        fields = {"dependencies": after, "delete_effects": deletes, "retry_budget": chance.randint(1, 3)}
        word = chance.choice(["escalate", "continue", "continue", "never", "back", "self"])
        if word == "continue":
            broken = f"f{number}"
            contingent += 1
            fields |= {"on_failure": "continue", "failure_effects": [broken]}
            recovery = {"on_failure": chance.choice(["escalate", "never", "escalate", f"r{number}"])}
            steps.append(step(f"r{number}", broken, made, retry_budget=chance.randint(1, 2), **recovery))
        elif word == "back" and after:
            fields["on_failure"] = chance.choice(after)
        elif word == "self":
            fields["on_failure"] = step_id
        elif word == "never":
            fields["on_failure"] = "never"
        steps.append(step(step_id, " ".join(needs), made, **fields))
        tokens.append(made)
    chance.shuffle(steps)
    goal = {tokens[-1], *chance.sample(tokens[1:], chance.randint(0, len(tokens) - 1))}
    total = sum(each["retry_budget"] for each in steps) + chance.choice([0, 0, 3, 10])
    return plan(*steps, goal=" ".join(sorted(goal)), total=total)


def random_policy(chance):
    """Return a policy as JSON over a few places that a token moves between, on the way to the goal."""
    places = chance.randint(2, 5)
    steps = []
    for place in range(places):
        here, there = f"p{place}", "goal" if place == places - 1 else f"p{place + 1}"
        if chance.random() < 0.3 and place:
            there = f"p{chance.randrange(place)}"
        fields = {"delete_effects": here, "repeatable": True, "on_failure": "continue"}
        if chance.random() < 0.5:
            back = f"p{chance.randrange(place + 1)}"
            fields |= {"failure_effects": [back], "failure_delete_effects": [here] if back != here else []}
        steps.append(step(f"s{place}", here, there, retry_budget=chance.randint(1, 2), **fields))
        if chance.random() < 0.6:
            other = f"p{chance.randrange(places)}"
            aside = {"repeatable": True, "on_failure": "continue", "delete_effects": here if other != here else ""}
            steps.append(step(f"x{place}", here, other, **aside))
        if chance.random() < 0.5:
            steps.append(step(f"y{place}", here, "goal", delete_effects=here, repeatable=True, on_failure="continue"))
    return plan(*steps, initial="p0", total=100)


def random_branching(chance):
    """Return a plan as JSON in which outcomes choose the way to the goal, and values are passed on.

    A token that begins with `v` has a value. Each branch ends in the goal; some wrong ones end nowhere.
    """
    steps, waiting, known = [], ["start"], []
    while waiting:
        here, number = waiting.pop(), len(steps)
        step_id = f"s{number}"
        fields = {"delete_effects": [here], "retry_budget": chance.randint(1, 2)}
        uses = [token for token in known if chance.random() < 0.5][:1]
        if number >= 6 or chance.random() < 0.3:
            steps.append(step(step_id, " ".join([here, *uses]), "goal", **fields))
            continue
        word = chance.choice(["escalate", "escalate", "continue", "never", step_id])
        if word == "continue":
            fields |= {"failure_effects": [f"f{number}"], "failure_delete_effects": [here]}
            waiting.append(f"f{number}")
        fields |= {"on_failure": word, "effects": f"v{number}" if chance.random() < 0.4 and here == "start" else ""}
        known += fields["effects"].split()
        names = chance.sample(["red", "green", "black"], chance.randint(1, 3))
        tokens = [chance.choice(["goal", f"t{number}", f"{name}{number}"]) for name in names]
        outcomes = [{"name": name, "effects": [token]} for name, token in zip(names, tokens, strict=True)]
        if chance.random() < 0.2:
            outcomes[-1]["delete_effects"] = [chance.choice(tokens)]
        waiting += sorted({token for token in tokens if token != "goal" and chance.random() < 0.95})
        guard = {} if chance.random() < 0.5 else {"guard": ""}
        steps.append(step(step_id, " ".join([here, *uses]), outcomes=outcomes, **fields, **guard))
    total = sum(each["retry_budget"] for each in steps) + chance.choice([0, 5])
    return plan(*steps, total=total)


def drawn(seed):
    """Return the plan of a seed, and the assurance that the strongest guard gives it; empty where it rejects it."""
    chance = random.Random(seed)
    kind = random_policy if seed % 4 == 3 else random_branching if seed % 8 == 5 else random_plan
    value = kind(chance)
    tools = tools_for(value)
    assert prove(guard_of("plan_minimal", tools, "none", 100), _text(value)).passed, (seed, value)
    verdict = prove(guard_of("plan_expansive", tools, "none", 100), _text(value))
    return value, (verdict.facts.get("assurance") or "") if verdict.passed else ""


def _text(value):
    import json

    return json.dumps(value)
