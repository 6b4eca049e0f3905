"""Lines about the events of a run, with attempts and moves in words in place of ids. Imports nothing heavy."""

import re

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_REQUEST = re.compile(r"\b([a-z][a-z0-9_]*)/v(\d+)\.a(\d+)(?:\.b(\d+))?(?:\.t(\d+))?\b")
_MOVE = re.compile(
    r"(^| )=> (local_retry|partial_replan|full_replan|clarify|give_up)(?: to ([a-z0-9_, ]+?))?"
    r"( because of [\w.]+)?, by rule [\w-]+"
)
_CLEARED = re.compile(r"\brevision \d+: cleared ([a-z0-9_, ]+)$")
_MOVES = {
    "local_retry": "it is tried again",
    "partial_replan": "back to {}",
    "full_replan": "back to {}",
    "clarify": "you are asked",
    "give_up": "it is given up",
}


def step_in_words(step: str) -> str:
    """Return the name of a step without the prefix that ids of generating steps have."""
    return step.removeprefix("g_").replace("_", " ")


def in_words(text: str) -> str:
    """Return a line about an event with attempts, moves and cleared steps in words."""
    text = _MOVE.sub(_move, text)
    text = _CLEARED.sub(lambda match: f"done again: {_steps(match[1])}", text)
    return _REQUEST.sub(_attempt, text)


def _steps(names: str) -> str:
    return ", ".join(step_in_words(name) for name in names.split(", "))


def _move(match: re.Match[str]) -> str:
    before, level, targets, cause = match.groups()
    return f"{': ' if before else ''}{_MOVES[level].format(_steps(targets or ''))}{cause or ''}"


def _attempt(match: re.Match[str]) -> str:
    step, visit, attempt, branch, number = match.groups()
    count = int(attempt)
    ordinal = _ORDINALS[count - 1] if 0 < count <= len(_ORDINALS) else f"{count}th"
    parts = [step_in_words(step)]
    parts += [f"branch {branch}"] if branch else []
    parts += [f"visit {visit}"] if visit != "1" else []
    parts += [f"{ordinal} attempt" if count <= 20 else f"attempt {count}"]
    parts += [f"try {number}"] if number else []
    return ", ".join(parts)
