"""What the heading of a part, or the line before a list, says about the sentences below it."""

import re
from enum import StrEnum

from actors.demands.tables import any_of
from actors.values.requirements import RequirementKind


class Role(StrEnum):
    """How the sentences below a heading are read."""

    ASKED = "asked"  # each sentence is a demand, unless it describes how things are
    PROPOSED = "proposed"  # a sentence about what will be is a demand
    NEUTRAL = "neutral"  # a sentence is a demand by its own words
    TOLD = "told"  # only a sentence with a strict word is: must, please, do not
    SILENT = "silent"  # none is: steps to reproduce, logs, alternatives, questions


_ASKED = (
    (
        RequirementKind.SCOPE,
        (
            r"(?:explicitly )?(?:out of scope|not in scope|non-? ?goals?|not goals|anti-? ?goals|won'?t (?:do"
            r"|have)|exclusions?|excluded|not included"
            r"|what (?:this|it) is not|not part of (?:this|it)|not now|later|out-of-scope)"
        ),
    ),
    (
        RequirementKind.MUST_AVOID,
        (
            r"(?:(?:please )?(?:do not|don'?ts?|must nots?|never|avoid|no-gos?|forbidden|prohibited"
            r"|not allowed|prohibitions|red lines"
            r"|hard limits?|off.limits)\b.*|what (?:must|may|should) not .*|things? (?:to avoid|not to .*))"
        ),
    ),
    (
        RequirementKind.MUST_KEEP,
        (
            r"(?:(?:must|should|needs? to|has to) (?:stay|remain|keep)\b.*|what (?:must|has to|should"
            r"|needs to) (?:stay|remain|keep|not change).*"
            r"|keep|invariants?|(?:backwards? )?compatibility|guarantees|unchanged|leave (?:alone|as is|untouched))"
        ),
    ),
    (
        RequirementKind.DEADLINE,
        (
            r"(?:deadlines?|due(?: dates?)?|dates|schedule|when|milestones|time ?frame|timeline|timing|by when"
            r"|target dates?|delivery)"
        ),
    ),
    (RequirementKind.BUDGET, r"(?:budgets?|costs?|effort|resources|cost limits?|spending|people)"),
    (
        RequirementKind.MUST_KEEP,
        (
            r"(?:(?:hard |known |technical |further |other |some |our |the |operational |design "
            r"|general )*(?:constraints?|rules|restrictions|limitations|boundaries"
            r"|conditions|guard ?rails|limits|ground rules|boundary conditions|caveats|keep in mind|please note))"
        ),
    ),
    (
        RequirementKind.GOAL,
        (
            r"(?:(?:high.level |functional |non-?functional |technical |security |performance |hard |key "
            r"|main |core |minimum |minimal |business |product "
            r"|operational |user |system |our |the |project |primary |secondary |data |privacy |legal "
            r"|compliance |other |further |additional |quality )*"
            r"(?:requirements?|goals?|objectives?|acceptance(?: criteria| tests?)?|criteria|definition of done"
            r"|dod|success (?:criteria|metrics)|done when|exit criteria|needs"
            r"|targets?|slos?|deliverables|tasks?|to.?dos?|todo list|must.haves?|should.haves?|nice.to.haves?"
            r"|musts?|asks?|wish ?list|requests?|demands|expectations|scope|in scope"
            r"|work items|action items|actions|next steps|user stor(?:y|ies)"
            r"|changes (?:needed|required|wanted|requested))"
            r"|(?:what|which|how) (?:i|we|you|it|the \w+|users?|customers|they) (?:(?:would|'d) like|wants?"
            r"|needs?|should|must|expects?|expected|ask(?:s|ed)? for|has to|have to|are asking for"
            r"|is looking for)\b.*"
            r"|what (?:is|'s) (?:needed|wanted|required|expected|missing)|what (?:should|must|has to"
            r"|needs to) (?:happen|change|be done|work|be true|hold)\b.*|what done (?:looks like|means)"
            r"|expected(?: behaviou?r| results?| outcome| output)?(?: behaviou?r)?|desired (?:behaviou?r|state"
            r"|outcome|result|end state)|target (?:state|architecture|behaviou?r)|the ask|ask|feature request"
            r"|what to do|to do|the task|mission|"
            r"acceptance|request|wanted|needed|required|mandatory|optional|important"
            r"|describe the solution you'?d like|solution you'?d like|we are done when.*|done means.*|"
            r"(?:the )?(?:\w+ )?(?:must|should|shall|has to|needs to|have to|need to|ought to|will have to)|"
            r"(?:i|we) (?:want|need|expect|ask|require|would like)(?: you)?(?: to)?(?: have| see"
            r"| get)?(?: the following.*)?|(?:the )?following (?:must|should|has to|needs to).*)"
        ),
    ),
)
_PROPOSED = any_of(
    (
        r"(?:(?:the |our |a )?(?:proposal|proposed (?:solution|change|changes|design|approach|behaviou?r|api"
        r"|fix)|solution|design|detailed design|approach|plan|implementation|implementation plan|specification"
        r"|suggested (?:fix|solution|change)|suggestion|migration|migration plan|rollout|roll-?out"
        r"|rollout plan|change|decision|what changes|security|testing|monitoring|details|interface"
        r"|behaviou?r))"
    ),
)
_SILENT = any_of(
    (
        r"(?:(?:the |minimal |exact )?(?:steps?(?: to reproduce| for reproduction| taken)?|how to (?:reproduce"
        r"|repeat|trigger)|to reproduce|reproduction(?: steps)?|reproducer|repro(?: steps)?|reproducing|mwe"
        r"|minimal (?:working |reproducible )?example)|(?:relevant |error |full |server |console )?(?:logs?"
        r"|log output|output|stack ?traces?|traceback|error(?: message)?|backtrace|screenshots?"
        r"|config(?:uration)?|code(?: sample)?|sample|dump)|(?:what )?(?:i|we)(?:'ve"
        r"| have)? (?:already )?(?:tried|did|do|checked|looked at|measured|found|saw|see|observed|know).*"
        r"|what (?:i|we)(?:'ve| have)? (?:already )?(?:tried|did|checked|looked at|measured|found|saw|see"
        r"|observed|know).*|tried(?: so far| already)?|already (?:tried|done).*|attempts|workarounds?"
        r"|(?:describe )?alternatives(?: considered| you'?ve considered)?|considered alternatives"
        r"|rejected alternatives|options(?: considered)?|(?:open |unresolved |remaining )?questions?"
        r"|references?|links?|related(?: issues| work| tickets)?|see also|prior art|further reading|glossary"
        r"|appendix|changelog|credits|examples?|for example|e\.g\.|such as|example (?:request|response|output"
        r"|input|usage)|versions?|environment|system info(?:rmation)?|platform|setup|my setup"
        r"|actual(?: behaviou?r| results?| outcome| output)?(?: behaviou?r)?|actually|what happens(?: instead"
        r"| now)?|observed(?: behaviou?r)?|current (?:behaviou?r|state|situation|output|setup)|is-?state"
        r"|status quo|as is|today|before|what (?:is|'s) (?:wrong|broken|happening)|symptoms?|observations?"
        r"|findings|measurements|measured|numbers|facts|what already (?:exists|works)|what (?:works|we have"
        r"|exists)(?: today| now| already)?|root cause|cause|timeline of .*|incident timeline|checklist"
        r"|self.?check|before submitting|possible causes?|hypothes[ie]s|suspects|affected.*|impact|pros|cons"
        r"|advantages|drawbacks|disadvantages|pros and cons|trade.?offs|who|contacts?|participants|cc)"
    ),
)
_TOLD = any_of(
    (
        r"(?:(?:the |some |more |additional |short )*(?:background|context|motivation|rationale|introduction"
        r"|intro|overview|history|problem(?: statement| description)?|description|bug description"
        r"|describe the bug|is your feature request related to a problem.*|summary|abstract|tl;?dr|why|reason"
        r"|reasons|risks?|assumptions|data|notes?|additional (?:context|information|info|notes)|information"
        r"|use cases?|severity|priority))"
    ),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _ASKED)
_EDGE = re.compile(r"^(?:[\W_]|\d{1,2}(?:\.\d{1,2})*[.):]? |[ivx]{1,4}\. )+|[\W_]+$")
_ASIDE = re.compile(r"\s*\([^)]*\)\s*")
NAMES_LENGTH_MAX = 80


def name_of(heading: str) -> str:
    """Return the name of a heading: in lower case, without numbers, markup and what stands in parentheses."""
    plain = _ASIDE.sub(" ", " ".join(heading[:200].split()))
    return _EDGE.sub("", plain.replace("\u2019", "'")).lower()


def role_of(heading: str) -> tuple[Role, RequirementKind | None]:
    """Return how the sentences below a heading are read, and the kind that they have by themselves."""
    name = name_of(heading)
    names = [
        name,
        *(part.strip() for part in re.split(r"\s*(?:/|&|:| and | or | - | \u2013 )\s*", name) if part.strip()),
    ]
    for each in names[:4]:
        for kind, pattern in _COMPILED:
            if pattern.fullmatch(each):
                return Role.ASKED, kind
        if _SILENT.fullmatch(each):
            return Role.SILENT, None
        if _PROPOSED.fullmatch(each):
            return Role.PROPOSED, RequirementKind.GOAL
        if _TOLD.fullmatch(each):
            return Role.TOLD, None
    return Role.NEUTRAL, None


def is_name(line: str) -> bool:
    """Tell whether a line without markup is known as the name of a part."""
    return len(line) <= NAMES_LENGTH_MAX and role_of(line)[0] is not Role.NEUTRAL
