"""One reading of a request: the text with all that the rules found in it, and what the request brings beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from actors.guards.fields import folded
from actors.guards.plan_settings import GUARD_CATALOG
from actors.rules.classify import Classification, classify
from actors.rules.extract import Facts, extract
from actors.rules.language import language_of
from actors.rules.tables import Rules
from actors.rules.text import Text

R_MAX = 100  # the default limit of a plan's retry budget (docs/reference/workflow.md)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a request's text says, and the request's other material.

    `dependencies` are the accepted artifacts by role; `retries` and `escalations` count the feedback. Only their number
    is used: feedback quotes what others wrote, so its words steer nothing. (The list of escalations is a window; the
    setting `escalations` counts them all.) `asked` are the questions that were answered or gone on
    without; `requirements` what the user has asked for since, the newest first; `strong` says that the plan must reach
    its goal without loops.
    """

    text: Text
    facts: Facts
    classification: Classification
    language: str
    dependencies: Mapping[str, Any]
    retries: int
    escalations: int
    asked: tuple[str, ...]
    requirements: tuple[str, ...]
    catalogue: frozenset[str]
    r_max: int
    strong: bool

    def dependency(self, role: str) -> Mapping[str, Any]:
        """Return the accepted artifact of a role, or an empty mapping if there is none that could be read."""
        value = self.dependencies.get(role)
        return value if isinstance(value, Mapping) else {}

    def questions(self, rules: Rules) -> list[dict[str, Any]]:
        """Return the next question, if the text is too thin to plan from and one is left that was not yet answered."""
        left = [
            question for question in rules.phrases.questions if not any(folded(question) in said for said in self.asked)
        ]
        asked = left[:1] if self.classification.thin else []
        return [{"question": question, "type": "text", "choices": []} for question in asked]


def read_request(material: Mapping[str, Any], rules: Rules) -> Reading:
    """Read a request's material. What the user has said since is further problem text; a requirement constrains."""
    clarifications = [item for item in _list(material.get("clarifications")) if isinstance(item, Mapping)]
    answers = tuple(str(item.get("answer", "")) for item in clarifications)
    requirements, notes = (tuple(map(str, _list(material.get(name)))) for name in ("requirements", "notes"))
    names = rules.signals.headings
    headings = frozenset((*names.generic, *names.reproduction, *names.constraints, *names.ignored))
    text = Text(
        (str(material.get("specification", "")), *answers, *requirements, *notes), headings, frozenset(names.ignored)
    )
    facts = extract(text, rules)
    settings = material.get("settings")
    settings = settings if isinstance(settings, Mapping) else {}
    dependencies = material.get("dependencies")
    return Reading(
        text=text,
        facts=facts,
        classification=classify(text, facts, rules),
        language=language_of(text, facts, rules),
        dependencies=dependencies if isinstance(dependencies, Mapping) else {},
        retries=len(_list(material.get("retry"))),
        escalations=max(_count(settings.get("escalations")), len(_list(material.get("escalation")))),
        asked=tuple(folded(str(item.get("question", ""))) for item in clarifications),
        requirements=tuple(map(folded, reversed(requirements))),
        catalogue=GUARD_CATALOG | {name for name in _list(settings.get("guard_catalog")) if isinstance(name, str)},
        r_max=_count(settings.get("r_max")) or R_MAX,
        strong=settings.get("assurance") == "strong",
    )


def facts_of(reading: Reading) -> Facts:
    """Return the facts that a plan is about: the accepted recon's lists where there is one, else what was found.

    A list in which recon found nothing is filled from the reading once a question was answered: recon may be older than
    the answer, and is not redone for it.
    """
    recon = {name: value for name, value in reading.dependency("recon").items() if value or not reading.asked}
    own = reading.facts
    return replace(
        own,
        files=_texts(recon, "mentioned_files", own.files),
        apis=_texts(recon, "apis_involved", own.apis),
        tests=_texts(recon, "test_references", own.tests),
        steps=_texts(recon, "reproduction_steps", own.steps),
        constraints=constraints_of(reading, _texts(recon, "constraints_mentioned", own.constraints)),
    )


def constraints_of(reading: Reading, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the constraints with what the user required since, first of all, each said once."""
    told = reading.requirements
    return (*dict.fromkeys(told), *(one for one in found if not any(one in requirement for requirement in told)))


def kind_of(reading: Reading, rules: Rules) -> str:
    """Return the problem's kind: what the accepted analysis says, else the reading's own classification."""
    said = reading.dependency("analysis").get("problem_type")
    return said if isinstance(said, str) and said in rules.templates else reading.classification.kind()


def _texts(artifact: Mapping[str, Any], key: str, own: tuple[str, ...]) -> tuple[str, ...]:
    value = artifact.get(key)
    return tuple(item for item in value if isinstance(item, str) and item.strip()) if isinstance(value, list) else own


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
