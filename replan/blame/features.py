"""The features of each step of a trace: its place, its writer, its words and what comes next. Pure.

The words that are looked for are of English and of Python's errors. Of a long text the beginning and the end are read.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from replan.blame.trace import BY_MODEL, AgentTrace, TraceStep

HEAD, TAIL = 1500, 500
"""Characters that are read at the beginning and at the end of a text."""
FEATURES: Mapping[str, str] = {
    "kind": "written by",
    "turn": "steps of agents before it",
    "place": "steps before it",
    "left": "steps after it",
    "code": "code or a call of a tool",
    "before": "came before",
    "next": "came next",
    "assumes": "assumes, simulates or estimates",
    "verifies": "verifies or confirms",
    "ends": "says that it is done",
    "trouble": "reports trouble",
    "until_trouble": "steps until the next report of trouble",
    "length": "characters",
    "spoken": "earlier steps of the same agent",
    "answer_words": "words of the last message that are new",
    "repeats": "words shared with the agent's step before",
    "numbers": "numbers in it",
    "same_agent": "the step before is of the same agent",
}
"""The features by their names in a table of weights, each in words."""

_WORD = re.compile(r"[a-z0-9][a-z0-9_.'/-]*")
_NUMBER = re.compile(r"\d+")
_ASSUMES = (
    "assum",
    "hypothe",
    "simulat",
    "mock",
    "placeholder",
    "example data",
    "suppose",
    "estimat",
    "approximat",
    "manual",
)
_VERIFIES = "verif", "confirm", "double-check", "double check", "validat", "cross-check", "cross check", "correct"
_ENDS = "terminate", "final answer", "request satisfied", "task is complete", "task is now complete"
_FAILED = (
    "traceback",
    "error",
    "exception",
    "exitcode: 1",
    "failed",
    "not found",
    "unable to",
    "cannot",
    "couldn't",
    "no such",
    "timeout",
    "timed out",
    "denied",
    "invalid",
)
_TROUBLE = (*_FAILED, "can't", "apolog", "sorry", "unfortunately")
_NOTHING_TO_RUN = ("no code",)

StepFeatures = Mapping[str, str]
"""The features of a step: a value for each of them."""


def features(trace: AgentTrace) -> list[StepFeatures]:
    """Return the features of each step of a trace."""
    texts = [_read(step.text) for step in trace.steps]
    words = [frozenset(_WORD.findall(text)) for text in texts]
    trouble = [step.failed or _has(text, _TROUBLE) for step, text in zip(trace.steps, texts, strict=True)]
    effects = [_effect(step, text) for step, text in zip(trace.steps, texts, strict=True)]
    new = _new_of_last(trace.steps, words)
    spoken, last_of, turn, found = Counter[str](), dict[str, frozenset[str]](), 0, list[StepFeatures]()
    next_trouble = _until_next(trouble)
    for number, (step, text) in enumerate(zip(trace.steps, texts, strict=True)):
        before = trace.steps[number - 1] if number else None
        found.append(
            {
                "kind": step.kind,
                "turn": _range(turn, (1, 2, 3, 4, 6, 9, 14)) if step.kind in BY_MODEL else "none",
                "place": _range(number, (1, 2, 3, 4, 5, 6, 8, 10, 13, 18, 26)),
                "left": _range(len(texts) - 1 - number, (1, 2, 3, 5, 9, 15)),
                "code": _yes(step.calls_tool or "```" in text),
                "before": effects[number - 1] if number else "nothing",
                "next": effects[number + 1] if number + 1 < len(texts) else "nothing",
                "assumes": _yes(_has(text, _ASSUMES)),
                "verifies": _yes(_has(text, _VERIFIES)),
                "ends": _yes(_has(text, _ENDS)),
                "trouble": _yes(trouble[number]),
                "until_trouble": next_trouble[number],
                "length": _range(len(step.text), (100, 300, 600, 1200, 2500)),
                "spoken": _range(spoken[step.agent], (1, 2, 3)),
                "answer_words": _range(new[number], (1, 3, 8, 20)),
                "repeats": _shared(words[number], last_of.get(step.agent)),
                "numbers": _range(len(_NUMBER.findall(text)), (1, 4, 12)),
                "same_agent": _yes(before is not None and before.agent == step.agent),
            }
        )
        spoken[step.agent] += 1
        last_of[step.agent] = words[number]
        turn += step.kind in BY_MODEL
    return found


def _read(text: str) -> str:
    return (text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n{text[-TAIL:]}").lower()


def _has(text: str, parts: Sequence[str]) -> bool:
    return any(part in text for part in parts)


def _effect(step: TraceStep, text: str) -> str:
    """Return what the steps next to a step see of it: its kind, and of a tool whether it failed."""
    if step.kind != "tool":
        return step.kind
    if _has(text, _NOTHING_TO_RUN):
        return "tool with nothing to do"
    return "tool that failed" if step.failed or _has(text, _FAILED) else "tool"


def _new_of_last(steps: Sequence[TraceStep], words: Sequence[frozenset[str]]) -> list[int]:
    """Return for each step how many words of the last message of an agent occur first in that step."""
    last = next(
        (each for step, each in zip(reversed(steps), reversed(words), strict=True) if _says(step, each)), words[-1]
    )
    seen, found = set(words[0]), [0]
    for each in words[1:]:
        found.append(len((each & last) - seen))
        seen |= each
    return found


def _says(step: TraceStep, words: frozenset[str]) -> bool:
    return step.kind == "agent" and bool(words - {"terminate"})


def _until_next(trouble: Sequence[bool]) -> list[str]:
    """Return for each step the number of steps until the next one that reports trouble, as a range."""
    found, distance = list[str](), 0
    for number in reversed(range(len(trouble))):
        found.append("none" if not distance else _range(distance, (1, 2, 3, 5, 9)))
        distance = 1 if trouble[number] else distance + 1 if distance else 0
    return found[::-1]


def _shared(words: frozenset[str], before: frozenset[str] | None) -> str:
    if before is None:
        return "none"
    return _range(100 * len(words & before) // max(1, len(words | before)), (20, 40, 70), unit=" %")


def _range(value: int, bounds: Sequence[int], *, unit: str = "") -> str:
    """Return the range between two bounds that a number lies in; each bound begins one."""
    place = bisect_right(bounds, value)
    low = bounds[place - 1] if place else 0
    if place == len(bounds):
        return f"{low}{unit} or more"
    return f"{low}{unit}" if bounds[place] == low + 1 else f"{low} to {bounds[place] - 1}{unit}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def values_of(seen: Sequence[Sequence[StepFeatures]]) -> dict[str, list[str]]:
    """Return the values that occur for each feature, sorted."""
    found = defaultdict[str, set[str]](set)
    for trace in seen:
        for step in trace:
            for name, value in step.items():
                found[name].add(value)
    return {name: sorted(found[name]) for name in FEATURES}
