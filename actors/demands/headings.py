"""What the heading of a part, or the line before a list, says about the sentences below it."""

from enum import StrEnum

from actors.demands.patterns import any_of, late
from actors.values.requirements import RequirementKind


class Role(StrEnum):
    """How the sentences below a heading are read."""

    ASKED = "asked"  # each sentence is a demand, unless it describes how things are
    LISTED = "listed"  # so is each fragment among demands in note form
    NEUTRAL = "neutral"  # a sentence is a demand by its own words
    TOLD = "told"  # only a sentence with a strict word is: must, please, do not
    OBSERVED = "observed"  # only a paragraph with such a word is: steps to reproduce, logs, what happens
    SILENT = "silent"  # none is: alternatives, questions, examples


_ASKED = (
    (
        RequirementKind.SCOPE,
        (
            r"(?:explicitly )?(?:what not|not in (?:this|the) \w+|out of scope|not in scope|non-? ?goals?"
            r"|not goals|anti-? ?goals|won'?t(?: do"
            r"| have)?|will not|exclusions?|excluded|not included|not (?:needed|required|necessary|wanted)"
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
            r"(?:deadlines?|due(?: dates?)?|dates|schedule|when|milestones|time ?frame|timing|by when|windows?"
            r"|(?:change|maintenance|time) window"
            r"|target dates?|delivery)"
        ),
    ),
    (RequirementKind.BUDGET, r"(?:budgets?|costs?|effort|resources|cost limits?|spending|people)"),
    (
        RequirementKind.MUST_KEEP,
        (
            r"(?:(?:hard |known |technical |further |other |some |our |the |operational |design "
            r"|general |project )*(?:constraints?|rules|restrictions|limitations|boundaries"
            r"|conditions|guard ?rails|limits|ground rules|boundary conditions|caveats))"
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
            r"|work items|action items|actions?|next steps|user stor(?:y|ies)"
            r"|changes (?:needed|required|wanted|requested))"
            r"|(?:what|which|how) (?:i|we|you|it|the \w+|users?|customers|they) (?:(?:would|'d) like|wants?"
            r"|needs?|should|must|expects?|expected|ask(?:s|ed)? for|has to|have to|are asking for"
            r"|is looking for|hopes? for)\b.*"
            r"|what (?:i|we|they)(?:'re| are|'m| am) (?:after|looking for|hoping for|asking for)\b.*"
            r"|what (?:is|'s) (?:needed|wanted|required|expected|missing)|what (?:should|must|has to"
            r"|needs to) (?:happen|change|be done|work|be true|hold)\b.*|what done (?:looks like|means)"
            r"|expected(?: behaviou?r| results?| outcome| output)?(?: behaviou?r)?|desired (?:behaviou?r|state"
            r"|outcome|result|end state)|target (?:state|architecture|behaviou?r)|the ask|ask|feature request"
            r"|what to do|to do|the task|mission|"
            r"acceptance|request|wanted|needed|required|mandatory|optional|important"
            r"|describe the solution you'?d like|solution you'?d like|we are done when.*|done means.*|"
            r"(?:the )?(?:\w+ )?(?:must|should|shall|has to|needs to|have to|need to|ought to|will have to)|"
            r"follow.?ups?|wish(?:es)?|principles|what|how it should be|"
            r"functional|non-?functional|technical|organi[sz]ational|operational|"
            r"please note|(?:to )?keep in mind|also note|"
            r"(?:required|requested|desired|wanted|needed|expected|mandatory|acceptance) (?!by\b|from\b"
            r"|at\b)\w+(?: \w+)?|"
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
        r"|rollout plan|transition|change|decision|what changes|security|testing|monitoring|interface"
        r"|behaviou?r))"
    ),
)
_OBSERVED = any_of(
    r"(?:the |minimal |exact )?steps?(?: to reproduce| for reproduction| taken)?",
    r"how (?:to|i|can i|you can) (?:reproduce|repeat|trigger).*|to reproduce|reproduc(?:tion|ing|er|tion steps)",
    r"repro(?: steps)?|poc|proof of concept|exploit|mwe|minimal (?:working |reproducible )?example",
    r"(?:relevant |error |full |server |console |crash )?(?:logs?|log output|output|stack ?traces?|traceback|dump)",
    r"backtrace",
    r"error(?: messages?)?|screenshots?|config(?:uration)?|code(?: sample)?|sample",
    r"actual(?:ly)?(?: behaviou?r| results?| outcome| output)?|what happens(?: instead| now)?"
    r"|observed(?: behaviou?r)?",
    r"what (?:actually )?(?:happened|went (?:wrong|well)|happens)",
    r"current (?:behaviou?r|state|situation|output|setup)|is-?state|status quo|as is|today|before|now|currently",
    r"what (?:is|'s) (?:wrong|broken|happening)|symptoms?|observations?|findings|measurements|measured|numbers",
    r"what (?:already )?(?:exists|works|we have)(?: today| now| already)?|root causes?|causes?|facts",
    (
        r"incident timeline|(?:incident )?timeline(?: of .*)?|possible causes?|hypothes[ie]s|suspects|affected\b.*"
        r"|impact|severity|frequency|priority"
    ),
    r"versions?|environment|system(?: info(?:rmation)?)?|platform|setup|my setup|your environment|device|browser",
    r"(?:what )?(?:i|we)(?:'ve| have)? (?:already )?"
    r"(?:did|do|checked|looked at|measured|found|saw|see|observed|know)\b.*",
)
_SILENT = any_of(
    (
        r"(?:what )?(?:i|we)(?:'ve| have)? (?:already )?tried.*|(?:things )?(?:already )?(?:tried"
        r"|done)(?: so far| already)?"
    ),
    r"attempts|workarounds?|(?:describe |considered |rejected |other )?(?:alternatives|options)\b.*",
    r"(?:open |unresolved |remaining )?questions?.*|references?|links?|related(?: issues| work| tickets)?|see also",
    r"prior art|further reading|glossary|appendix.*|changelog|credits|contacts?|participants|cc|who",
    r"(?:for )?examples?|e\.g\.|such as|example (?:request|response|output|input|usage)",
    r"(?:type|kind|category) of (?:change|issue|request|pr|pull request)s?|checklist|self.?check|before submitting"
    r"|pros|cons|advantages|drawbacks|disadvantages|pros and cons|trade.?offs",
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
_OF_PROPOSAL = late(
    r"(?:motivation|rationale|alternatives|drawbacks|unresolved questions|(?:detailed )?design|proposal|specification"
    r"|transition|migration plan|rollout(?: plan)?|prior art|proposed \w+)"
)
_ABSTRACT = late(r"(?:abstract|summary|overview|description|in short|tl;?dr)")
_COMPILED = tuple((kind, late(pattern)) for kind, pattern in _ASKED)
_EDGE = late(r"^(?:[\W_]|\d{1,2}(?:\.\d{1,2})*[.):]? |[ivx]{1,4}\. )+|[\W_]+$")
_JOINT = late(r"\s*(?:/|&|:|,| and | or | - | \u2013 | \u2014 )\s*")
_TAIL = late(r"\s+(?:for|of|in|on|from|to|about|regarding|with|at|by) .*")
_ASIDE = late(r"\s*\([^)]*\)\s*")
NAME_LENGTH_MAX = 80
"""Characters of a line without markup that is the name of a part."""
NAME_WORDS_MAX = 8
"""Words of a heading that may have several parts."""
NAMES_MAX = 4
"""Parts of a heading that are looked at, as of "Goals and constraints"."""


def name_of(heading: str) -> str:
    """Return the name of a heading: in lower case, without numbers, markup and what stands in parentheses."""
    plain = _ASIDE.sub(" ", " ".join(heading[:200].split()))
    return _EDGE.sub("", plain.replace("\u2019", "'")).lower()


def role_of(heading: str) -> tuple[Role, RequirementKind | None]:
    """Return how the sentences below a heading are read, and the kind that they have by themselves."""
    name = name_of(heading)
    parts = [part for part in _JOINT.split(name) if part][:NAMES_MAX] if len(name.split()) <= NAME_WORDS_MAX else []
    for each in (name, *parts, *(_TAIL.sub("", part) for part in parts[:1])):
        for kind, pattern in _COMPILED:
            if pattern.fullmatch(each):
                return Role.ASKED, kind
        if _SILENT.fullmatch(each):
            return Role.SILENT, None
        if _OBSERVED.fullmatch(each):
            return Role.OBSERVED, None
        if _PROPOSED.fullmatch(each):
            return Role.ASKED, RequirementKind.GOAL
        if _TOLD.fullmatch(each):
            return Role.TOLD, None
    return Role.NEUTRAL, None


def is_name(line: str) -> bool:
    """Tell whether a line without markup is known as the name of a part."""
    return len(line) <= NAME_LENGTH_MAX and role_of(line)[0] is not Role.NEUTRAL


def is_of_proposal(heading: str) -> bool:
    """Tell whether only a proposal has a part with this heading."""
    return _OF_PROPOSAL.fullmatch(name_of(heading)) is not None


def is_abstract(heading: str) -> bool:
    """Tell whether the part below a heading says in short what a text is about."""
    return _ABSTRACT.fullmatch(name_of(heading)) is not None
