"""`evidence_present`: a strategy or a plan relies only on files, interfaces and tests that recon found.

Recon is the step that extracts names and quotes from the problem's text. The guard looks in recon's items for each name
in a strategy's `evidence` and in a plan's `initial_state`. In a plan, only words that look like names in a program are
looked up, such as `src/app.py`, `Cart::add` or `parse()`. A name is found if an item contains it, apart from white
space and case. A name that is also in the effects of a step is not looked up.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from actors.guards.fields import (
    ITEMS_MAX,
    comparable_name,
    dependency,
    object_of,
    quote_text,
    verdict_of,
    warn_if_given,
    warn_nothing_to_compare,
    without_settings,
)
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from actors.values.requirements import EVIDENCE, evidence_in

NAME = "evidence_present"
NAMES_MAX = 1_000
RECON_CHARACTERS_MAX = 1_000_000
"""The largest number of characters of the recon artifact's items that are searched for names."""
OCCURRENCES_MAX = 100
"""The largest number of places in the recon artifact's items that are examined for one name."""

_WORD = re.compile(r"[^\s\"'`,;=|<>{}\[\]]{3,200}")
_EXTENSIONS = (
    "c cc cfg conf cpp cs css csv env ex go h hpp hs html ini ipynb java js json jsx kt lock log lua md php pl proto "
    "py r rb rs rst scala sh sql svelte swift tf toml ts tsx txt vue xml yaml yml"
)
_NAME = re.compile(
    rf"[\w./~@+-]*/[\w.+-]+\.[a-z]\w{{0,9}}|[\w-][\w.-]*\.(?:{'|'.join(_EXTENSIONS.split())})"  # a path, a file
    r"|[a-z_]\w+(?:\.\w+)*\(\)|[a-z_]\w+(?:::\w+)+(?:\(\))?",  # a call, a qualified name
    re.IGNORECASE,
)
_PLACE = re.compile(r"(?::\d+){1,2}$")


def _judge_evidence(artifact: Artifact, context: Context) -> Verdict:
    value, unreadable = object_of(artifact)
    if value is None:
        return verdict_of(NAME, unreadable)
    claimed = list(_claimed_names(value))[:NAMES_MAX]
    if not claimed:
        return verdict_of(NAME, ())
    recon = dependency(context, "recon")
    if recon is None:
        return warn_nothing_to_compare(NAME, "a recon")
    missing = _missing_evidence(claimed, recon)
    findings = warn_if_given(missing, context, Code.EVIDENCE_MISSING) if "steps" in value else list(missing)
    return verdict_of(NAME, findings, len(claimed))


def _names_in(text: str) -> Iterator[str]:
    """Yield the words of a text that look like names in a program. A line number at the end of a word is removed."""
    for word in _WORD.findall(text[:ITEMS_MAX]):
        name = _PLACE.sub("", word.strip(".:")).removeprefix("file:")
        if _NAME.fullmatch(name):
            yield name


def _claimed_names(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "steps" not in value:
        for index, item in enumerate(evidence_in(value)):
            # What stands there is a name, whatever its form.
            yield f"{EVIDENCE}[{index}]", _PLACE.sub("", item.strip())
        return
    tokens = _texts(value.get("initial_state"))
    names = [(f"initial_state[{index}]", name) for index, token in enumerate(tokens) for name in _names_in(token)]
    if names:
        made_names = set(_made_names(value))
        yield from ((where, name) for where, name in names if comparable_name(name) not in made_names)


def _made_names(value: Mapping[str, Any]) -> Iterator[str]:
    steps = value.get("steps")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict):
            for key in ("effects", "failure_effects"):
                for token in _texts(step.get(key)):
                    yield from map(comparable_name, _names_in(token))


def _missing_evidence(claimed: Iterable[tuple[str, str]], recon: Mapping[str, Any]) -> Iterator[Finding]:
    text = comparable_name("\n".join(_recon_texts(list(recon.values()))))[:RECON_CHARACTERS_MAX]
    found: dict[str, bool] = {}
    for where, name in claimed:
        sought = comparable_name(name)
        if sought not in found:
            found[sought] = _occurs_in(sought, text)
        if not found[sought]:
            message = (
                f"{quote_text(name)} is assumed to exist, but recon did not find it; name only what recon found, and "
                "leave out what does not exist yet"
            )
            tags = (ReasonTag.MISSING_EVIDENCE,)
            yield Finding(code=Code.EVIDENCE_MISSING, message=message, where=where, tags=tags, tokens=(name,))


def _occurs_in(name: str, text: str) -> bool:
    """Return whether a text contains a name as a whole word.

    The search gives up after `OCCURRENCES_MAX` longer words that contain the name, and then returns true.
    """
    start = text.find(name)
    for _ in range(OCCURRENCES_MAX):
        if start < 0:
            return False
        before, after = text[start - 1 : start], text[start + len(name) : start + len(name) + 1]
        if not (_is_in_word(before) and _is_in_word(name[:1])) and not (_is_in_word(after) and _is_in_word(name[-1:])):
            return True
        start = text.find(name, start + 1)
    return True


def _is_in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _recon_texts(values: list[Any]) -> Iterator[str]:
    for value in values:
        for item in value if isinstance(value, list) else ():
            if isinstance(item, str):
                yield item
            elif isinstance(item, dict) and isinstance(item.get("quote"), str):
                yield str(item["quote"])


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


make = without_settings(NAME, _judge_evidence)
