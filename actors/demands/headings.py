"""Tells from the heading of a part, or from the line before a list, how the sentences below are read. Pure."""

from enum import StrEnum

from actors.demands.patterns import late
from actors.values.requirements import RequirementKind


class Role(StrEnum):
    """How the sentences below a heading are read."""

    ASKED = "asked"  # each sentence is a demand, unless it describes how things are
    NEUTRAL = "neutral"  # a sentence is a demand by its own words
    TOLD = "told"  # only a sentence with a strict word is: must, please, do not
    OBSERVED = "observed"  # only a paragraph with such a word is: steps to reproduce, logs, what happens
    SILENT = "silent"  # none is: alternatives, questions, examples


_MUST = r"(?:must|should|has to|have to|needs? to)"
_ASKED = (
    (
        RequirementKind.SCOPE,
        (
            r"(?:explicitly )?(?:(?:what )?not(?: in (?:this|the) \w+| needed)?|(?:out of|not in) scope|non-? ?goals?"
            r"|won'?t(?: do)?|excluded|exclusions?|not (?:included|part of (?:this|it))|later|out-of-scope)"
        ),
    ),
    (
        RequirementKind.MUST_AVOID,
        (
            r"(?:please )?(?:do not|don'?ts?|must nots?|never|avoid|no-gos?|forbidden|prohibited|not allowed"
            r"|off.limits)\b.*"
            rf"|what {_MUST} not .*|things? (?:to avoid|not to .*)"
        ),
    ),
    (
        RequirementKind.MUST_KEEP,
        (
            rf"(?:what )?{_MUST} (?:stay|remain|keep|not change)\b.*|keep|invariants?|(?:backwards? )?compatibility"
            rf"|unchanged"
            r"|(?:hard |known |technical |other |some |our |the |project )*(?:constraints?|rules|restrictions"
            r"|limitations|conditions|guard ?rails|limits)"
        ),
    ),
    (RequirementKind.DEADLINE, r"deadlines?|due(?: dates?)?|dates|schedule|when|milestones|timing|(?:\w+ )?windows?"),
    (RequirementKind.BUDGET, r"budgets?|costs?|effort|resources"),
    (
        RequirementKind.GOAL,
        (
            r"(?:functional |non-?functional |technical |security |performance |key |main |user |the "
            r"|our )*(?:requirements?|goals?|objectives?|acceptance(?: criteria| tests?)?|criteria|definition of done"
            r"|dod|success criteria|done when|needs|targets?|slos?|deliverables|tasks?|to.?dos?|(?:must|should"
            r"|nice.to).haves?|musts?|asks?|wish(?:es| ?list)?|requests?|demands|expectations|scope|action items"
            r"|actions?|next steps|user stor(?:y|ies)|follow.?ups?|principles)"
            rf"|(?:what|which|how) (?:i|we|you|it|the \w+|users?|they) (?:would like|wants?|needs?|expects?"
            rf"|{_MUST})\b.*"
            r"|what (?:i|we|they)(?:'re| are|'m| am) (?:after|looking for|asking for)\b.*|what (?:is|'s) (?:needed"
            r"|wanted|missing)"
            rf"|what {_MUST} (?:happen|change|be done|work|be true|hold)\b.*|expected(?: behaviou?r| results?"
            rf"| outcome)?"
            r"|desired (?:behaviou?r|state|outcome)|feature request|what to do|to do|request|wanted|needed|required"
            r"|mandatory"
            rf"|optional|important|(?:describe the )?solution you'?d like|what|functional|non-?functional"
            rf"|(?:the )?(?:\w+ )?{_MUST}"
            r"|please note|(?:to )?keep in mind|(?:i|we) (?:want|need|expect"
            r"|would like)(?: you)?(?: to)?(?: the following.*)?|(?:the )?(?:proposal|proposed \w+|design|approach|plan"
            r"|implementation|specification|migration|roll-?out|transition|change|decision|security|testing|monitoring"
            r"|behaviou?r)"
        ),
    ),
)
_ROLES = (
    *((Role.ASKED, kind, late(pattern)) for kind, pattern in _ASKED),
    (
        Role.SILENT,
        None,
        late(
            r"(?:what )?(?:i|we)(?:'ve| have)? (?:already )?tried.*|attempts|workarounds?|(?:describe |considered "
            r"|rejected )?(?:alternatives|options)\b.*|(?:open )?questions?.*|references?|links?|related|see also"
            r"|prior art|glossary|appendix.*|cc|who|participants|(?:for )?examples?|e\.g\.|drawbacks|pros and cons"
            r"|(?:type|kind) of (?:change|issue|request|pr)s?|before submitting|checklist"
        ),
    ),
    (
        Role.OBSERVED,
        None,
        late(
            r"(?:the )?steps?(?: to reproduce)?|how to reproduce.*|to reproduce|repro(?: steps)?|poc|mwe"
            r"|(?:error )?logs?|output|stack ?traces?|traceback|errors?|config(?:uration)?|code|actual(?: behaviou?r"
            r"| results?)?|what (?:actually )?happen(?:s|ed).*|observed|current (?:behaviou?r|state|situation)|today"
            r"|before|now|symptoms?|findings|measurements|root causes?|causes?|facts|(?:incident )?timeline.*|impact"
            r"|severity|priority|versions?|environment|setup"
        ),
    ),
    (
        Role.TOLD,
        None,
        late(
            r"(?:the )?(?:background|context|motivation|rationale|introduction|overview|history"
            r"|problem(?: statement)?|why|description|describe the bug"
            r"|is your feature request related to a problem.*|summary|abstract|tl;?dr|reasons?|risks?|assumptions"
            r"|notes?|additional (?:context|information|info)|use cases?)"
        ),
    ),
)
_EDGE = late(r"^(?:[\W_]|\d{1,2}(?:\.\d{1,2})*[.):]? )+|[\W_]+$")
_JOINT = late(r"\s*(?:/|&|:|,| and | or | - | \u2013 )\s*")
_TAIL = late(r"\s+(?:for|of|in|on|from|to|about|with|at|by) .*")
_ASIDE = late(r"\s*\([^)]*\)\s*")
_NAME_LENGTH_MAX = 80
_NAME_WORDS_MAX = 8
_PARTS_MAX = 4


def role_of(heading: str) -> tuple[Role, RequirementKind | None]:
    """Return how the sentences below a heading are read, and the kind that it gives to demands there, if any."""
    plain = _ASIDE.sub(" ", " ".join(heading[:200].split()))
    name = _EDGE.sub("", plain.replace("\u2019", "'")).lower()
    short = len(name.split()) <= _NAME_WORDS_MAX
    parts = [part for part in _JOINT.split(name) if part][:_PARTS_MAX] if short else []
    for part in (name, *parts, *(_TAIL.sub("", part) for part in parts[:1])):
        for role, kind, pattern in _ROLES:
            if pattern.fullmatch(part):
                return role, kind
    return Role.NEUTRAL, None


def is_name(line: str) -> bool:
    """Tell whether a line without markup is a known heading."""
    return len(line) <= _NAME_LENGTH_MAX and role_of(line)[0] is not Role.NEUTRAL
