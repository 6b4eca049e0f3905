"""A request as the rules use it: the problem's text, its facts and classification, and the other material."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from actors.guards.fields import folded
from actors.guards.plan_settings import GUARD_CATALOG
from actors.rules.classification import Classification, classify
from actors.rules.facts import Facts, extract
from actors.rules.language import language_of
from actors.rules.tables import Rules
from actors.rules.text import Text

R_MAX = 100
"""The default limit of a plan's retry budget (`r_max` in docs/reference/workflow.md)."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request.

    Of the feedback only the number of rejections is used: it quotes text of models and users, which must not steer.
    """

    text: Text
    """The problem's text, with everything that the user has added."""
    facts: Facts
    """The facts in the text."""
    classification: Classification
    """The classification of the text."""
    language: str
    """The programming language."""
    dependencies: Mapping[str, Any]
    """The accepted artifacts by role."""
    retries: int
    """The number of rejections of this step."""
    escalations: int
    """The number of later failures that this step caused; all of them, not only those in the feedback window."""
    closed_questions: tuple[str, ...]
    """The questions that were answered, declined or expired, folded."""
    requirements: tuple[str, ...]
    """The requirements that the user has added, folded; the newest first."""
    catalogue: frozenset[str]
    """The guard names that a plan may use."""
    r_max: int
    """The limit of a plan's retry budget."""
    strong: bool
    """Whether the plan must reach its goal without loops."""

    def dependency(self, role: str) -> Mapping[str, Any]:
        """Return the accepted artifact of a role, or an empty mapping if it is missing or not an object."""
        value = self.dependencies.get(role)
        return value if isinstance(value, Mapping) else {}

    def questions(self, rules: Rules) -> list[dict[str, Any]]:
        """Return the next question that is not closed, if the text is too short to plan from; else no question."""
        open_questions = [
            question
            for question in rules.phrases.questions
            if not any(folded(question) in closed for closed in self.closed_questions)
        ]
        next_questions = open_questions[:1] if self.classification.thin else []
        return [{"question": question, "type": "text", "choices": []} for question in next_questions]


def parse_request(material: Mapping[str, Any], rules: Rules) -> ParsedRequest:
    """Return the request with this material. Answers, requirements and notes are parts of the problem's text."""
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
    return ParsedRequest(
        text=text,
        facts=facts,
        classification=classify(text, facts, rules),
        language=language_of(text, facts, rules),
        dependencies=dependencies if isinstance(dependencies, Mapping) else {},
        retries=len(_list(material.get("retry"))),
        escalations=max(_count(settings.get("escalations")), len(_list(material.get("escalation")))),
        closed_questions=tuple(folded(str(item.get("question", ""))) for item in clarifications),
        requirements=tuple(map(folded, reversed(requirements))),
        catalogue=GUARD_CATALOG | {name for name in _list(settings.get("guard_catalog")) if isinstance(name, str)},
        r_max=_count(settings.get("r_max")) or R_MAX,
        strong=settings.get("assurance") == "strong",
    )


def facts_of(request: ParsedRequest) -> Facts:
    """Return the facts for a plan: those of the accepted recon, or the request's own if there is no recon.

    After an answer, a list that is empty in the recon is taken from the request's own facts too: the recon may be older
    than the answer.
    """
    recon = {
        name: value for name, value in request.dependency("recon").items() if value or not request.closed_questions
    }
    own = request.facts
    return replace(
        own,
        files=_texts(recon, "mentioned_files", own.files),
        apis=_texts(recon, "apis_involved", own.apis),
        tests=_texts(recon, "test_references", own.tests),
        steps=_texts(recon, "reproduction_steps", own.steps),
        constraints=constraints_of(request, _texts(recon, "constraints_mentioned", own.constraints)),
    )


def constraints_of(request: ParsedRequest, constraints: tuple[str, ...]) -> tuple[str, ...]:
    """Return the user's requirements and then the constraints, without repetitions."""
    requirements = tuple(dict.fromkeys(request.requirements))
    others = (item for item in constraints if not any(item in requirement for requirement in requirements))
    return (*requirements, *others)


def kind_of(request: ParsedRequest, rules: Rules) -> str:
    """Return the problem's kind: that of the accepted analysis, else that of the request's own classification."""
    kind = request.dependency("analysis").get("problem_type")
    return kind if isinstance(kind, str) and kind in rules.templates else request.classification.kind()


def _texts(artifact: Mapping[str, Any], key: str, own: tuple[str, ...]) -> tuple[str, ...]:
    value = artifact.get(key)
    return tuple(item for item in value if isinstance(item, str) and item.strip()) if isinstance(value, list) else own


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
