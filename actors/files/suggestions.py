"""Hints for unknown names: the replacement of a retired name, or the valid name most similar to a misspelt name."""

from collections.abc import Iterable, Mapping
from typing import Literal

Written = Literal["command", "option", "model", "key", "value", "extra"]
"""What a name in the user's input stands for. A `model` stands after `--model`. A `key` is in a file of settings, tools
or a workflow. A `value` is one of the words that a key accepts. An `extra` is an optional part of the Python package.
"""

_MESSAGES = "use a webhook: it calls a program of yours, which can send the message"

RETIRED: Mapping[Written, Mapping[str, str]] = {
    "command": {
        "archive": "`replan home copy TARGET --older-than 30d --delete` moves old runs to another journal",
        "attest": "`replan home verify` checks the hash chain of the records",
        "blame": "Replan reads no traces of other agents",
        "delete": "use `replan home delete`",
        "experiment": "use `replan lab experiment`",
        "journal": "use `replan home verify`, `replan home copy` or `replan home upgrade`",
        "profile": "use `replan lab profile`",
        "prune": "use `replan home prune`",
        "restore": "`replan home copy SOURCE TARGET --run RUN` copies a run back",
        "tune": "`replan lab race` compares settings, and `replan lab profile` measures a model",
        "whatif": "use `replan lab whatif`",
    },
    "option": {
        "check --pddl": "use `replan lab pddl check DOMAIN PROBLEM PLAN...`",
        "doctor --verify": "use `replan home verify`",
        "run --pddl": "use `replan lab pddl run DOMAIN PROBLEM`",
    },
    "model": {
        "rules": "choose a template with `template:NAME`, or name a language model",
    },
    "key": {
        "buttons": _MESSAGES,
        "email": _MESSAGES,
        "format": "a webhook posts only signed JSON; a program of yours can turn it into a message",
        "learns_from": "edit the values in the file of the belief policy",
        "mail": _MESSAGES,
        "model_calls_total_by_provider": "use `model_calls_max_by_provider`, which limits the calls of each host",
        "notify": "use a webhook: it tells a program of yours that a run waits",
        "schedules": "use a crontab line with `replan run FILE --detach`",
        "slack": _MESSAGES,
    },
    "value": {},
    "extra": {
        "attest": "`replan home verify` needs no extra",
        "experiments": "install the extra `lab`, which experiments need",
        "unified-planning": "install the extra `lab` for PDDL; `pip install unified-planning` adds the planners",
    },
}
"""For each retired name, one sentence that tells what replaces it.

An option is written as `COMMAND --OPTION`, such as `run --strict`. A command in a group is written as `GROUP COMMAND`.
"""


def describe_retired(name: str, written: Written | None = None) -> str:
    """Return "it is gone: ..." for a retired name, which no longer exists; an empty text for any other name.

    A name can be retired in one place, such as a key, and be valid in another place. Without `written`, all places
    count.
    """
    for place, names in RETIRED.items():
        if written in {None, place} and name in names:
            return f"it is gone: {names[name]}"
    return ""


_NAMES_MAX = 20
"""The largest number of names that a hint lists."""


def nearest(name: str, known: Iterable[str], *, kind: str = "known", written: Written | None = None) -> str:
    """Return a hint: the most similar known name, or a list of known names if no name is similar.

    If the name is retired in the place `written`, the hint names its replacement.
    """
    if written and (retired_notice := describe_retired(name, written)):
        return retired_notice
    names = sorted(known)
    listed = f"{kind}: {', '.join(names[:_NAMES_MAX])}" if names else ""
    return near(name, names) or listed


def near(name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known name; empty if no name is similar."""
    close = closest(name, known)
    return f"did you mean {close!r}?" if close else ""


def closest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return the known name that is most similar to a name; empty if no name is similar enough.

    `cutoff` is the smallest similarity that is enough, as a ratio of `difflib` from 0 to 1.
    """
    from difflib import get_close_matches  # noqa: PLC0415 -- only a misspelt name needs it

    return next(iter(get_close_matches(name, sorted(known), n=1, cutoff=cutoff)), "")
