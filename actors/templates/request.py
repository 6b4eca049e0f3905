"""What a template reads from a request: the title, the named files and the demands of the user's texts. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.demands.patterns import requirement_kind
from actors.demands.reader import read_demands
from actors.guards.fields import fold_space
from actors.values.format import shorten, title_of
from actors.values.open_questions import NOT_UNDERSTOOD
from actors.values.requirements import Requirement, RequirementSource, requirement_id, requirements_in

WORDS_MIN = 5
"""The fewest words of the user's texts with which a template asks for no more, unless the texts name a file."""
FILES_MAX = 20
"""The most files that an artifact names."""
DEMANDS_MAX = 200
"""The most demands that a plan satisfies."""
R_MAX = 100
"""The default limit of a plan's retry budget (`r_max` in docs/reference/workflow.md)."""
QUESTIONS = (
    "What is wrong or wanted, and where does it show: what happens now, and what should happen instead?",
    "Which part of the program is it about (a file, a command, a page), and how would you see that it is done?",
)
"""The questions that are asked while the texts are too short, one after the other."""
TOO_SHORT = "the text says too little to plan from; say what is wrong or wanted, and where it shows"

_EXTENSIONS = (
    *("c", "cc", "cfg", "cpp", "cs", "css", "csv", "go", "h", "hpp", "html", "ini", "java", "js", "json", "jsx", "kt"),
    *("lua", "md", "php", "pl", "proto", "py", "pyi", "rb", "rs", "scala", "scss", "sh", "sql", "svelte", "swift"),
    *("tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml"),
)
_FILE = re.compile(
    rf"(?<![\w./@:-])(?:[\w.-]{{1,80}}/){{0,12}}[\w-][\w.-]{{0,80}}\.(?:{'|'.join(_EXTENSIONS)})\b(?![\w/])"
)
_UNPRINTED = re.compile(r"[\x00\ud800-\udfff]")  # JSON, the journal and terminals cannot represent these.
_EDGES = " .;,"


@dataclass(frozen=True, slots=True)
class TemplateRequest:
    """The facts with which a template is filled."""

    title: str
    files: tuple[str, ...]
    """The files that the texts name, or those of the accepted recon."""
    requirements: tuple[Requirement, ...]
    """The demands, those of the accepted recon first."""
    short: bool
    """Whether the texts say too little to plan from."""
    asked: tuple[str, ...]
    """The questions that were answered, declined or expired, with white space folded."""
    dependencies: Mapping[str, Any]
    """The JSON values of the accepted artifacts, by the role of their step."""
    catalogue: tuple[str, ...]
    """The names of guards that a plan may use beside those of `GUARD_CATALOG`."""
    r_max: int
    """The limit of a plan's retry budget."""
    strong: bool
    """Whether the plan must reach its goal without going back."""
    given: Mapping[str, Any]
    """The facts that the run was given, by their names in `actors.values.given`."""

    def dependency(self, role: str) -> Mapping[str, Any]:
        """Return the accepted artifact of a role, or an empty mapping if it is missing or not an object."""
        value = self.dependencies.get(role)
        return value if isinstance(value, Mapping) else {}

    def doubts(self) -> dict[str, Any]:
        """Return the fields with which an artifact asks a question, or says that the text is not understood.

        It is empty if the texts are long enough.
        """
        if not self.short:
            return {}
        open_ = [text for text in QUESTIONS if not any(fold_space(text) in asked for asked in self.asked)][:1]
        questions = [{"question": text, "type": "text", "choices": []} for text in open_]
        return {"open_questions": questions, NOT_UNDERSTOOD: TOO_SHORT}


def read_request(material: Mapping[str, Any]) -> TemplateRequest:
    """Return the facts in the material of a `ModelRequest`."""
    clarifications = [item for item in _list(material.get("clarifications")) if isinstance(item, Mapping)]
    answers = [_print_value(item.get("answer", "")) for item in clarifications]
    added, notes = ([_print_value(item) for item in _list(material.get(key))] for key in ("requirements", "notes"))
    problem = _print_value(material.get("specification", ""))
    texts = [problem, *answers, *added, *notes]
    words = sum(len(text.split()) for text in texts)
    named = tuple(dict.fromkeys(name for text in texts for name in _FILE.findall(text)))[:FILES_MAX]
    settings, dependencies, given = (material.get(key) for key in ("settings", "dependencies", "given"))
    settings = settings if isinstance(settings, Mapping) else {}
    dependencies = dependencies if isinstance(dependencies, Mapping) else {}
    recon = dependencies.get("recon")
    recon = recon if isinstance(recon, Mapping) else {}
    found = tuple(item for item in _list(recon.get("mentioned_files")) if isinstance(item, str) and item.strip())
    distinct = {item.id: item for item in requirements_in(recon.get("requirements"))}
    for item in _stated_requirements(problem, answers, added):
        distinct.setdefault(item.id, item)
    r_max = settings.get("r_max")
    return TemplateRequest(
        title=title_of(_title_text([problem, *answers])).rstrip(_EDGES) or "The stated problem",
        files=found or named,
        requirements=tuple(distinct.values())[:DEMANDS_MAX],
        short=words < WORDS_MIN and not named,
        asked=tuple(fold_space(str(item.get("question", ""))) for item in clarifications),
        dependencies=dependencies,
        catalogue=tuple(name for name in _list(settings.get("guard_catalog")) if isinstance(name, str)),
        r_max=r_max if isinstance(r_max, int) and r_max > 0 else R_MAX,
        strong=settings.get("assurance") == "strong",
        given=given if isinstance(given, Mapping) else {},
    )


def shorten_line(text: str, length: int) -> str:
    """Return the text on one line, cut to `length` characters."""
    return shorten(fold_space(text), length)


def _title_text(texts: Sequence[str]) -> str:
    """Return the first text that is long enough to plan from, else the first one."""
    return next((text for text in texts if len(text.split()) >= WORDS_MIN), texts[0])


def _stated_requirements(problem: str, answers: Sequence[str], added: Sequence[str]) -> list[Requirement]:
    """Return the demands of the user's texts: first those added later, then those of the problem and the answers."""
    stated = [
        _requirement(str(requirement_kind(text.lower())), fold_space(text), RequirementSource.USER)
        for text in reversed(added)
        if text.strip()
    ]
    sources = [(problem, RequirementSource.PROBLEM), *((text, RequirementSource.ANSWER) for text in answers)]
    for text, source in sources:
        stated += [_requirement(str(item.kind), item.quote, item.source) for item in read_demands(text, source).demands]
    return stated


def _requirement(kind: str, quote: str, source: str) -> Requirement:
    return Requirement(requirement_id(quote), kind, quote.rstrip(_EDGES) or quote, quote, str(source))


def _print_value(value: Any) -> str:
    return _UNPRINTED.sub(" ", str(value))


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
