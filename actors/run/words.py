"""Replaces the ids of attempts, moves and steps by words, in texts for people. Pure, with light imports only."""

import re

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_REQUEST = re.compile(r"\b([a-z][a-z0-9_]*)/v(\d+)\.a(\d+)(?:\.b(\d+))?(/c\b)?(?:\.t(\d+))?")
_EXECUTED = re.compile(
    r"(?:\btool:)?\b([A-Za-z0-9_][\w-]*)/r(\d+)\.(?:v(\d+)\.a|n)(\d+)(?:\.(?!t\d)([a-z_]+))?(?:\.t(\d+))?"
)
_NUMBERED = re.compile(r"(?:\btool:)?\b(?:trouble|planner)/n(\d+)\b")
_UNDO = re.compile(r"(?:\btool:)?\bundo/n(\d+)\b")
_WORKSPACE = re.compile(r"(?:\btool:)?\bworkspace/(start|end)\b")
_LOOK = re.compile(r"(?:\btool:)?\bworkspace/look\.n(\d+)\b")
_MOVE = re.compile(
    r"(^| )=> (local_retry|partial_replan|full_replan|clarify|give_up)( afresh)?(?: to ([a-z0-9_, ]+?))?"
    r"( because of [\w.]+)?, by rule [\w-]+"
)
_CLEARED = re.compile(r"(?:\brevision \d+: |^)cleared ([a-z0-9_]+(?:, [a-z0-9_]+)*)(?=;|$)")
_QUOTED = re.compile(r"'g_([a-z0-9_]+)'")
_ASKED = re.compile(r"^(question [\w-]+) \(([^()]+)\): (.*)", re.DOTALL)
_REASON = re.compile(r"^([\w-]+): ([a-z0-9_]+)$")
_MOVES = {
    "local_retry": "the step is tried again",
    "partial_replan": "back to {}",
    "full_replan": "back to {}",
    "clarify": "you are asked",
    "give_up": "the run gives up",
}


def step_in_words(step: str) -> str:
    """Return the name of a step without the prefix that the ids of generating steps have."""
    return step.removeprefix("g_").replace("_", " ")


def in_words(text: str) -> str:
    """Return a line about an event with words in place of the ids of attempts, moves and steps.

    Quoted texts of people keep their ids.
    """
    asked = _ASKED.fullmatch(text)
    if asked is not None:
        return f"{asked[1]} ({reason_in_words(asked[2])}): {question_in_words(asked[3])}"
    text = _MOVE.sub(_move, text)
    text = _CLEARED.sub(lambda match: f"done again: {_steps(match[1])}", text)
    if "/" not in text:
        return text
    text = _REQUEST.sub(_attempt, text)
    text = _EXECUTED.sub(_execution_words, text)
    text = _NUMBERED.sub(lambda match: f"trouble {match[1]}", text)
    text = _UNDO.sub(lambda match: f"undo of call {match[1]}", text)
    text = _LOOK.sub(lambda match: f"preflight check {match[1]}", text)
    return _WORKSPACE.sub(lambda match: f"snapshot of the workspace at the {match[1]}", text)


def question_in_words(text: str) -> str:
    """Return a text of a question with words in place of the ids of steps."""
    return in_words(_QUOTED.sub(lambda match: f"'{step_in_words(match[1])}'", text))


def reason_in_words(why: str) -> str:
    """Return the reason of a question in words. Usually `why` is `STEP: RULE`."""
    return in_words(_REASON.sub(lambda match: f"{step_in_words(match[1])}: {match[2].replace('_', ' ')}", why))


def _steps(names: str) -> str:
    return ", ".join(step_in_words(name) for name in names.split(", "))


def _move(match: re.Match[str]) -> str:
    before, level, afresh, targets, cause = match.groups()
    again = " (the next prompt does not show its earlier answers)" if afresh else ""
    return f"{': ' if before else ''}{_MOVES[level].format(_steps(targets or ''))}{again}{cause or ''}"


def _attempt(match: re.Match[str]) -> str:
    step, visit, attempt, branch, classified, number = match.groups()
    parts = [step_in_words(step)]
    parts += [f"branch {branch}"] if branch else []
    parts += [f"visit {visit}"] if visit != "1" else []
    parts += _attempt_words(attempt)
    parts += ["its cause"] if classified else []
    parts += [f"try {number}"] if number else []
    return ", ".join(parts)


def _execution_words(match: re.Match[str]) -> str:
    step, revision, visit, attempt, phase, number = match.groups()
    parts = [step_in_words(step)]
    parts += [f"revision {revision}"] if revision != "1" else []
    parts += [f"visit {visit}"] if visit not in (None, "1") else []
    parts += _attempt_words(attempt)
    parts += [phase.replace("_", " ")] if phase else []
    parts += [f"try {number}"] if number else []
    return ", ".join(parts)


def _attempt_words(attempt: str) -> list[str]:
    count = int(attempt)
    if count == 1:
        return []
    ordinal = _ORDINALS[count - 1] if 0 < count <= len(_ORDINALS) else f"{count}th"
    return [f"{ordinal} attempt" if count <= 20 else f"attempt {count}"]
