"""What the user's texts forbid or limit, read by the program where they name tools and paths literally. Pure."""

import re
from collections.abc import Iterable, Iterator

from actors.demands.reader import read_demands
from actors.plans.constraints import FORBIDS, KEPT_KINDS
from actors.plans.coverage import folded_name
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, requirement_id

_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PATH = re.compile(r"(?<![\w/.:@-])(?:[\w.-]+/[\w./-]*\w/?|[\w-]*\w\.[A-Za-z]\w{0,7})(?![\w:@-])")
_CHANGES = re.compile(r"\b(?:chang|touch|modif|edit|alter|delet|remov|overwrit|renam|mov|rewrit)\w*", re.IGNORECASE)


def constraints_told(texts: Iterable[str], tools: Iterable[str]) -> tuple[Requirement, ...]:
    """Return what the user's texts forbid or limit, as far as the program can read them.

    A tool of `tools` is forbidden where a prohibition names it literally, and a path is protected where the text names
    it literally as something that must not change. Anything else is kept as text.
    """
    names = tuple(tools)
    found: dict[str, Requirement] = {}
    for text in texts:
        for demand in read_demands(text, RequirementSource.USER).demands:
            kind, quote = str(demand.kind), demand.quote
            if kind in KEPT_KINDS:
                found[requirement_id(quote)] = Requirement(
                    id=requirement_id(quote),
                    kind=kind,
                    text=quote,
                    quote=quote,
                    source=str(RequirementSource.USER),
                    tools=tuple(_tools_in(quote, names)) if kind == RequirementKind.MUST_AVOID else (),
                    paths=tuple(_paths_in(quote, kind, names)),
                )
    return tuple(found.values())


def _tools_in(quote: str, names: Iterable[str]) -> Iterator[str]:
    text = folded_name(quote)
    for name in names:
        if re.search(rf"(?<![\w-]){re.escape(folded_name(name))}(?![\w-])", text):
            yield name


def _paths_in(quote: str, kind: str, tools: Iterable[str]) -> Iterator[str]:
    """Yield the paths that a prohibition protects: quoted ones, and words with a slash or the ending of a file."""
    if kind not in FORBIDS or (kind == RequirementKind.MUST_AVOID and not _CHANGES.search(quote)):
        return
    quoted = _QUOTED.findall(quote)
    names = {folded_name(name) for name in tools}
    for path in dict.fromkeys((*quoted, *_PATH.findall(_QUOTED.sub(" ", quote)))):
        if not any(sign.isspace() for sign in path) and folded_name(path) not in names:
            yield path
