"""A request as the rules use it: the problem's text, its facts and classification, and the other material."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from actors.demands.kinds import requirement_kind
from actors.guards.fields import folded
from actors.guards.plan_settings import GUARD_CATALOG
from actors.rules.classification import Classification, classify, decided
from actors.rules.decision import DecisionTask, decision_in, only_asks
from actors.rules.facts import Facts, content_words, extract, language_of
from actors.rules.requirements import StatedDemands, stated_in
from actors.rules.subject import ENGLISH, Subject, natural_language, subject_of
from actors.rules.tables import RulesTables
from actors.rules.text import ProblemText, beginnings, lower
from actors.rules.understanding import SYMPTOM_SCORE, Answers, Understanding, understand
from actors.values.open_questions import NOT_UNDERSTOOD
from actors.values.requirements import Requirement, RequirementKind, RequirementSource, requirements_in

CONSTRAINING = frozenset(
    (RequirementKind.MUST_AVOID, RequirementKind.MUST_KEEP, RequirementKind.DEADLINE, RequirementKind.BUDGET)
)
"""The kinds of requirements that do not say what is wanted."""
VAGUE_LENGTH_MAX = 400
"""Characters of a specification beyond which it is not taken for one that says nothing."""
R_MAX = 100
"""The default limit of a plan's retry budget (`r_max` in docs/reference/workflow.md)."""


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request.

    Of the feedback only the number of rejections is used: it quotes text of models and users, which must not steer.
    """

    text: ProblemText
    """The problem's text, with everything that the user has added."""
    facts: Facts
    """The files, interfaces, stack traces, tests and the like that the text names."""
    classification: Classification
    """The kind of work that the text asks for, with its scores and signals."""
    understanding: Understanding
    """What to make of the text: a kind, a question, or a doubt that no question is left for."""
    decision: DecisionTask | None
    """What the text asks to be decided; None where it asks for something else."""
    stated: StatedDemands
    """What the text demands, and the cause that it states."""
    cut: bool
    """Whether the text, with everything that the user has added, is longer than what was read of it."""
    language: str
    """The programming language of the text, in lower case; `unknown` where nothing shows it."""
    dependencies: Mapping[str, Any]
    """The JSON values of the accepted artifacts, by the role of their step."""
    retries: int
    """The number of rejections of this step."""
    escalations: int
    """The number of later failures that this step caused; all of them, not only those in the feedback window."""
    answers: Answers
    """The questions that were answered, declined or expired."""
    catalogue: frozenset[str]
    """The guard names that a plan may use."""
    r_max: int
    """The limit of a plan's retry budget."""
    strong: bool
    """Whether the plan must reach its goal without loops."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The facts that the run was given, by their names in `actors.values.given`; empty where it finds them itself."""

    def dependency(self, role: str) -> Mapping[str, Any]:
        """Return the accepted artifact of a role, or an empty mapping if it is missing or not an object."""
        value = self.dependencies.get(role)
        return value if isinstance(value, Mapping) else {}

    def doubts(self) -> dict[str, Any]:
        """Return the fields by which an artifact asks, or says that the problem is not understood; none if it is."""
        if not self.understanding.doubt:
            return {}
        question = self.understanding.question
        questions = [] if question is None else [dict(question)]
        return {"open_questions": questions, NOT_UNDERSTOOD: self.understanding.doubt}


def parse_request(material: Mapping[str, Any], rules: RulesTables) -> ParsedRequest:
    """Return the request with this material. Answers, requirements and notes are parts of the problem's text."""
    clarifications = [item for item in _list(material.get("clarifications")) if isinstance(item, Mapping)]
    answers = tuple(str(item.get("answer", "")) for item in clarifications)
    requirements, notes = (tuple(map(str, _list(material.get(name)))) for name in ("requirements", "notes"))
    specification = str(material.get("specification", ""))
    wishes = [text for text in requirements if requirement_kind(lower(text)) not in CONSTRAINING]
    reading = _read((specification, *answers, *requirements, *notes), (*answers, *wishes, *notes), rules)
    settings = material.get("settings")
    settings = settings if isinstance(settings, Mapping) else {}
    dependencies, given = material.get("dependencies"), material.get("given")
    escalations = max(_count(settings.get("escalations")), len(_list(material.get("escalation"))))
    questions = tuple(folded(str(item.get("question", ""))) for item in clarifications)
    answered = tuple((question, answer) for question, answer in zip(questions, answers, strict=True) if answer.strip())
    history = Answers(questions, answered)
    newest_first = tuple(map(folded, reversed(requirements)))
    understanding = understand(
        reading.subject, reading.classification, history, rules, escalations, only_asks=reading.only_asks
    )
    return ParsedRequest(
        text=reading.text,
        facts=reading.facts,
        classification=reading.classification,
        understanding=understanding,
        decision=reading.decision,
        stated=_stated(reading, newest_first, understanding.kind, rules),
        cut=reading.cut,
        language=reading.language,
        dependencies=dependencies if isinstance(dependencies, Mapping) else {},
        retries=len(_list(material.get("retry"))),
        escalations=escalations,
        answers=history,
        catalogue=GUARD_CATALOG | {name for name in _list(settings.get("guard_catalog")) if isinstance(name, str)},
        r_max=_count(settings.get("r_max")) or R_MAX,
        strong=settings.get("assurance") == "strong",
        given=given if isinstance(given, Mapping) else {},
    )


@dataclass(frozen=True, eq=False, slots=True)
class _Reading:
    """What was read in the parts of a text. It equals itself alone: its texts are slow to compare."""

    text: ProblemText
    cut: bool
    facts: Facts
    classification: Classification
    subject: Subject
    language: str
    vague: bool
    decision: DecisionTask | None
    only_asks: bool


@lru_cache(maxsize=4)  # The steps of a run read the same text.
def _read(parts: tuple[str, ...], added: tuple[str, ...], rules: RulesTables) -> _Reading:
    """Return the reading of a text.

    By the first of the parts and what was `added` it is classified: a constraint alone does not say what is wanted.
    Where the specification is in another language, or says nothing by itself, and the user has said more, only that is
    classified: the names of files and the like are found in all of it.
    """
    whole, parts = parts, (*beginnings(parts[:1]), *beginnings(parts[1:]))
    names = rules.signals.headings
    sections = (*names.generic, *names.reproduction, *names.constraints, *names.ignored, *rules.requirements.sections)
    text = ProblemText(parts, frozenset(sections), frozenset(names.ignored))
    facts = extract(text, rules)
    additions = tuple(part for part in beginnings(added) if part.strip())
    prose = replace(text, parts=(*parts[:1], *additions))
    specification = replace(text, parts=parts[:1])
    vague = _says_nothing(specification, rules)
    if additions and (vague or natural_language(specification.head, rules.subject) != ENGLISH):
        prose = replace(text, parts=additions)
        facts = replace(facts, title=extract(prose, rules).title)
    classification = classify(prose, facts, rules)
    decision = None if facts.traces else decision_in(prose, facts.title)
    if decision is not None:
        classification = decided(classification, decision)
    symptom = max(classification.scores.values()) >= SYMPTOM_SCORE
    subject = subject_of(prose.head, anchored=facts.anchored, symptom=symptom, table=rules.subject)
    return _Reading(
        text=text,
        cut=parts != whole,
        facts=facts,
        classification=classification,
        subject=subject,
        language=language_of(text, facts, rules),
        vague=vague,
        decision=decision,
        only_asks=not facts.traces and only_asks(prose),
    )


def _says_nothing(specification: ProblemText, rules: RulesTables) -> bool:
    """Return whether a specification is short, names nothing in a program, and has no word about software."""
    if len(specification.parts[0]) > VAGUE_LENGTH_MAX:
        return False
    if len(content_words(specification.head, rules)) >= rules.signals.thin.words_without_signal:
        return False
    if extract(specification, rules).anchored:
        return False
    return not subject_of(specification.head, anchored=False, symptom=False, table=rules.subject).score


@lru_cache(maxsize=4)  # For all steps of a run, unless an escalation changes the kind.
def _stated(reading: _Reading, added: tuple[str, ...], kind: str, rules: RulesTables) -> StatedDemands:
    """Return what the text demands if the problem is of this kind."""
    stated = stated_in(
        reading.text,
        added,
        reading.facts.title,
        kind=kind,
        patterns=rules.requirements,
        forms=rules.forms,
        mended=rules.phrases.mended,
    )
    if not reading.vague:
        return stated
    # A wish that says nothing is shown; no step could build it or check it.
    shown = (
        item._replace(kind=str(RequirementKind.SCOPE))
        if item.kind == RequirementKind.GOAL and item.source == RequirementSource.PROBLEM
        else item
        for item in stated.requirements
    )
    return replace(stated, requirements=tuple(shown))


def facts_of(request: ParsedRequest) -> Facts:
    """Return the facts for a plan: those of the accepted recon, or the request's own if there is no recon.

    After an answer, a list that is empty in the recon is taken from the request's own facts too: the recon may be older
    than the answer.
    """
    recon = {name: value for name, value in request.dependency("recon").items() if value or not request.answers.asked}
    own = request.facts
    return replace(
        own,
        files=_texts(recon, "mentioned_files", own.files),
        apis=_texts(recon, "apis_involved", own.apis),
        tests=_texts(recon, "test_references", own.tests),
        steps=_texts(recon, "reproduction_steps", own.steps),
    )


def requirements_of(request: ParsedRequest) -> tuple[Requirement, ...]:
    """Return the requirements for a plan: those of the accepted recon, and those of the text that it does not have."""
    requirements = {item.id: item for item in requirements_in(request.dependency("recon").get("requirements"))}
    for requirement in request.stated.requirements:
        requirements.setdefault(requirement.id, requirement)
    return tuple(requirements.values())


def template_kind(request: ParsedRequest, rules: RulesTables) -> str:
    """Return the problem's kind: that of the accepted analysis, else that of the request's own classification."""
    kind = request.dependency("analysis").get("problem_type")
    return kind if isinstance(kind, str) and kind in rules.templates else request.understanding.kind


def _texts(artifact: Mapping[str, Any], key: str, own: tuple[str, ...]) -> tuple[str, ...]:
    value = artifact.get(key)
    return tuple(item for item in value if isinstance(item, str) and item.strip()) if isinstance(value, list) else own


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
