"""The tasks of the study with a real model: what they are, what is asked, and how a reply is judged.

A task says what is there and what is wanted, and has three families of actions, each named by a material. The first
call chooses a family; the second chooses two of its three actions, in order. Only one family leads from what is there
to the goal: another makes the goal from what is not there, the third begins with what is there and does not make the
goal. So a plan fails because of the first reply or because of the second, and only `plan_medium` says whether it does.
"""

import json
import random
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from actors.config.step_guards import BUILT_IN
from actors.values.artifacts import Artifact, Context

WORDS = (
    *("wood", "plank", "table", "clay", "brick", "wall", "wool", "yarn", "scarf", "milk", "cheese", "pizza"),
    *("iron", "nail", "box", "sand", "glass", "window", "wheat", "flour", "cake", "grape", "juice", "wine"),
    *("cocoa", "bar", "gift", "leather", "strap", "bag", "paper", "letter", "parcel", "stone", "gravel"),
    *("road", "oil", "soap", "bath"),
)
CHOOSE = "Choose what the goal is made from."
ORDER = "Choose two actions, in order, that make the goal from what is there."
AGAIN = "Give another answer."


@dataclass(frozen=True)
class Task:
    """One task: a name, what is there, the goal, the right family, and the actions of each as (from, to)."""

    name: str
    start: str
    goal: str
    right: str
    families: dict[str, tuple[tuple[str, str], ...]]

    def answers(self, choice):
        """Return every pair of actions of a family, in order: nine."""
        return list(product(self.families[choice], repeat=2))

    @cached_property
    def solution(self):
        """The pair of actions that is right."""
        return (self.start, self.right), (self.right, self.goal)

    def plan(self, pair):
        """Return the plan that a pair of actions is."""
        steps = [
            {
                "step_id": step_id, "name": f"make {made}", "generator": "coder", "guard": "syntax", "retry_budget": 1,
                "dependencies": ["first"] if step_id == "second" else [], "preconditions": [source], "effects": [made],
            }
            for step_id, (source, made) in zip(("first", "second"), pair, strict=True)
        ]  # fmt: skip
        return {
            "plan_id": "p", "goal": "g", "initial_state": [self.start], "goal_state": [self.goal],
            "total_retry_budget": 2, "steps": steps,
        }  # fmt: skip

    def judged(self, pair):
        """Return whether `plan_medium` passes the plan of two actions, and its first finding."""
        verdict = GUARD(Artifact("n", "plan", json.dumps(self.plan(pair))), Context(""))
        return verdict.passed, verdict.errors[0] if verdict.errors else None


GUARD = BUILT_IN["plan_medium"]({})


def task(name):
    """Return the task of a name; the same name gives the same task."""
    dice = random.Random(name)
    there, middle, goal, other, *rest = dice.sample(WORDS, 11)
    families = {
        middle: [(there, middle), (middle, goal), (middle, rest[0])],
        other: [(rest[1], other), (other, goal), (rest[2], other)],
        rest[3]: [(there, rest[3]), (rest[3], rest[4]), (rest[5], goal)],
    }
    names = dice.sample(list(families), 3)
    return Task(name, there, goal, middle, {name: tuple(dice.sample(families[name], 3)) for name in names})


SHOTS = (task("shot a"), task("shot b"))


def arrow(action):
    return f"{action[0]} -> {action[1]}"


def choice_text(asked, choice):
    """Return the answer that chooses a family."""
    return json.dumps({"path": f"{asked.start} -> {choice} -> {asked.goal}"})


def pair_text(pair):
    """Return the answer that is a pair of actions."""
    return json.dumps({"path": [arrow(action) for action in pair]})


def with_feedback(text, said, finding):
    if said is None:
        return f"{text}\nAnswer: "
    return f"{text}\nThe answer {said} is wrong. {finding}".rstrip() + f"\n{AGAIN}\nAnswer: "


def choice_request(asked, said=None, finding=""):
    """Return the system text, the user text and the schema of the first call; `said` is a wrong answer before it."""

    def shown(one):
        actions = "\n".join(arrow(action) for actions in one.families.values() for action in actions)
        return f"{actions}\nStart: {one.start}. Goal: {one.goal}."

    shots = [f"{shown(shot)}\nAnswer: {choice_text(shot, shot.right)}" for shot in SHOTS]
    user = "\n\n".join([*shots, with_feedback(shown(asked), said, finding)])
    paths = [json.loads(choice_text(asked, choice))["path"] for choice in asked.families]
    return CHOOSE, user, _object({"path": {"enum": paths}})


def pair_request(asked, choice, said=None, finding=""):
    """Return the system text, the user text and the schema of the second call, given the family that was chosen."""

    def shown(one, family):
        return f"Start: {one.start}. Goal: {one.goal}.\n" + "\n".join(map(arrow, one.families[family]))

    shots = [f"{shown(shot, shot.right)}\nAnswer: {pair_text(shot.solution)}" for shot in SHOTS]
    user = "\n\n".join([*shots, with_feedback(shown(asked, choice), said, finding)])
    actions = {"enum": list(map(arrow, asked.families[choice]))}
    return ORDER, user, _object({"path": {"type": "array", "items": actions, "minItems": 2, "maxItems": 2}})


def no_plan(choice):
    """Return what the first call is told of a family whose plans were all rejected."""
    return f"No plan through {choice} was found."


def read_choice(text):
    """Return the family that an answer names."""
    return json.loads(text)["path"].split(" -> ")[1]


def read_pair(text):
    """Return the pair of actions that an answer names."""
    first, second = (tuple(action.split(" -> ")) for action in json.loads(text)["path"])
    return first, second


def _object(properties):
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
