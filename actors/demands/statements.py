"""Whether a plain statement says how something new shall be: "a card is valid for three years". Pure.

Such a statement has the words of a fact. What decides is the evidence around it (`Surroundings`), its form, and that
nothing in it speaks of how things are: the past, the present day, a reason, a fault, the writer's own things.
"""

from functools import lru_cache
from typing import NamedTuple, assert_never

from actors.demands.blocks import BlockForm
from actors.demands.facts import FACT, FAULTS, GREETING, NARRATED, PAST, TOLD_BY_OTHERS
from actors.demands.force import Force, describes, force_of, is_modal, notes
from actors.demands.headings import Role
from actors.demands.instructions import instructs, states
from actors.demands.kinds import requirement_kind
from actors.demands.patterns import ASKS, REQUIRES, any_of, late
from actors.values.requirements import RequirementKind

WEIGHT_MIN = 3
"""The weight of the evidence from which on a statement is a demand."""
WORDS_MIN = 4
"""Words of a statement; fewer are a name, a signature or an aside."""
NAME_WORDS_MAX = 5
"""Words of a line that only names a thing."""


class Surroundings(NamedTuple):
    """What stands around a statement. Each piece of evidence weighs the same."""

    titled: bool = False
    """Whether the title or a paragraph before asks for something new, or the heading names it."""
    new: bool = False
    """Whether an earlier sentence of its paragraph asks for something new."""
    follows: bool = False
    """Whether the sentence before is a demand that says how something is to be, or announces a change."""
    between: bool = False
    """Whether so is the sentence before, and the one after it asks for something too."""
    asking: bool = False
    """Whether half of the paragraph are demands."""
    after: bool = False
    """Whether what stands before the paragraph are demands, or a line that introduces some."""


_RULE = any_of(
    r"^(?:only|each|every|any|all|both|no|nobody|nothing|an?|one|if|when|once|until|unless|after|before|on|for|by"
    r"|during|throughout|in case|with|without|instead|also|old|new|existing)\b",
    r"^(?:[\w'-]+ ){1,5}?(?:can|may|will|won't|never|always|only)\b",
    r"\b(?:stays?|remains?|keeps?|survives?)\b|\bstill (?:works?|opens?|runs?|gets?|sees?|exists?)\b",
    r"\b(?:is|are|gets?) (?:[\w]+ly |also |then |always |never |not |only |all )*"
    r"(?:(?!affected)\w{2,}(?:ed|en|wn|pt)|sent|built|set|put|kept|held|read|left|made|shown|sold)\b",
    r"\b(?:at most|at least|at the latest|by default|default|maximum|minimum|per)\b",
    r"^(?:they|it|its|their|these|those|this|the (?:former|latter|rest|others?|result|same))\b",
)
"""Forms in which rules are written: a quantifier, a condition, a permission, a passive, what stays, a limit."""
_VALUE = late(r"(?:The )?[\w-]+ (?:is|are) (?:[A-Z\d`\"$])")
"""A statement that sets a value: "Default is 20 GB"."""
_REASONS = any_of(
    r"\b(?:because|since|currently|today|nowadays|at present|at the moment|so far|until now|these days|ago|otherwise"
    r"|therefore|means|meaning|reason|though|although|however|anyway|apparently|unfortunately|actually)\b",
    r"\b(?:about|around|roughly|approximately|nearly|almost|some|~) ?\d|\b\d[\d.,]* ?% (?:of|full|free|used)\b"
    r"|\bhas \d",
    r"\bthe (?:current|present|legacy|provider|vendor|supplier|manufacturer|upstream)\b",
)
"""What speaks of the present day, of a reason or of something measured, wherever it stands."""
_TELLS = any_of(
    r"^(?:and |but )?(?:most|many|half|few) (?!.*\b(?:can|may) )|\blives? in\b|\bdivided\b|\bon average\b"
    r"|\b(?:people|users|customers|they|parents|guests|members|readers|players) (?:write|say|tell|complain|report"
    r"|mention)\b",
    r"\b(?:usually|often|sometimes|normally|mostly|rarely|probably|perhaps|maybe|might|would|could|likely"
    r"|again and again|last \w+|already|now|yet)\b|^(?!.*\b(?:can|may|nobody)\b).*\b(?:manually|by hand)\b",
    r"^(?!if |when |where |unless |once ).*\b(?:can't|cannot|can not) (?!be )",
    r"\b(?:is|are) (?:informed|aware|live|here)\b",
    r"^(?!i \w+ [^,]* and (?:the|it)\b)[^,;:]*\b(?:we|our|ours|i|i'm|i've|my|me|us|your|colleagues?|s?he)\b",
    r"\b(?:think|thinks|believe|know|knows|depends?|seems?|looks?|look like|suffers?|complains?)\b",
    r"\b(?:slow|slower|broken|wrong|hard|easy|difficult|fine|okay|ok|bad|ugly|annoying|confusing|unclear|impossible"
    r"|useless|outdated|expensive|cheap|nice|great|right|correct|correctly|incorrect|incorrectly|blank|used|enough"
    r"|too \w+ly|why|huge|popular|busy|familiar|responsible)\b",
    r"\b(?:fails?|crash(?:es)?|hangs?(?! on\b)|breaks?|leaks?|lags?|flickers?|vanish(?:es)?|loses?|misses|jumps"
    r"|exists?|attached|times out|piles? up|blows? up|stuck|wastes?|errors? out|slows?|overlaps?)\b",
    r"\bthere(?: is|'s| are) (?!a (?:button|link|switch|limit|page)\b)|^like \w+",
    r"\b(?:is|are|lies?|sits?|lives?) (?:in|under|near|on|behind|inside) (?:the |our |`)",
    r"\b(?:(?:is|are) written in|based on|made by|built (?:on|with)|owned by|comes? from|consists? of|handles)\b",
    r"^(?:that|this|it|which)(?:'s| is| are| has| makes| takes| happens| works)\b"
    r"(?! (?:\w+ed|shown|sent|kept|valid)\b)",
    r"^(?!(?:\S+ ){0,5}?(?:is|are|be|been|gets?|has|have|can|may|must|should|shall|will|that|which|who) )"
    r"(?:[\w'`/.()-]+ ){1,5}?(?:\w{2,}ed|found|lost|gave|took|told|said|left|met|sent|won) "
    r"(?:to|the|an?|its?|their|them|us|that|nothing|messages|`|\d)",
)
"""Words of a main clause that tells how things are or were: a hedge, a judgement, a fault, the past."""
_CLAUSE = late(r"(?<=\w )\b(?:what|when|if|that|which|who|whose|where|until|after|before|once|unless)\b.*")
_ASIDE = late(
    r" ?\([^()]*\)|(?<=.{12})(?:,? (?:because|since|although|though|whereas|whilst?)\b|, (?:as|so|which|who) "
    r"| [-\u2013\u2014]{1,2} ).*"
)
"""What is added to a rule: a reason, a contrast, a remark."""
_NEW = any_of(
    r"\b(?:i|we|they|users?|customers?|people|team|\w+s)(?: would|'d)? (?:\w+ly |also |still |just )?(?:need|want|like"
    r"|propose|suggest|request|wish|plan|are looking for|am looking for)\b",
    r"\b(?:need|needs|want|wants|would like|propose|proposes|suggest|wish for|looking for)"
    r" (?:to (?!know|see why|understand)|a\b|an\b|that\b|new\b|one\b|some\b|more\b)",
    r"\bwould be (?:\w+ )?(?:nice|great|good|helpful|useful|cool|awesome|handy|lovely|wonderful)\b",
    r"\bshould be (?:able|possible)\b",
    r"\b(?:must|should|shall|has to|have to|needs? to) (?:let|allow|support|offer|provide)\b",
    r"\bfrom (?:now|\w+ \d*) ?on\b|\bin (?:the )?future\b",
    r"^as (?:an?|the) [^,]{1,60},? (?:i|we) (?:want|would like|need|can)\b",
)
"""A demand for something that does not exist yet."""
_NEW_NOUN = late(r"(?:an?|one|some|new) ")
_REPAIRS = late(
    r"\b(?:fix(?:ed)?|repair|mend|correct|resolve|investigate|find|debug|look|check|revert|restore|roll back|restart"
    r"|stop|prevent|avoid|no longer|again|make sure)\b"
)
_REMOVES = late(r"(?:please )?(?:remove|delete|drop|get rid|retire|shut|turn off|disable|clean|rename|upgrade)\b")
_PLANS = late(
    r"\bwe(?:'re| are) (?:now )?(?:going to|planning to|replacing|moving|migrating|switching|introducing|building"
    r"|rolling out|changing|adding|launching|opening)\b|\bwe (?:will|'ll|plan to|intend to) \w+"
    r"|^(?:starting|beginning) (?:with|from|on|in)\b"
)
_PROPOSAL = late(
    r"\W*(?:proposal|proposed|feature(?: request)?|(?:user )?story|rfc|spec|specification|epic|idea|wish|concept"
    r"|change request|enhancement)\b[\w -]{0,10}[:\])-]"
)
_OVERVIEW = late(r"\b(?:how|why|what|overview|introduction|incidents?|post-?mortem|missing|issues?)\b")
_NAMED = late(
    r"^(?!(?:Nobody|Nothing|It|One|Two|Three|Four|Five|Six|Ten|They|Each|Every|All|This|Support|Sales|Marketing|Legal"
    r"|Finance|Accounting|Security|Ops) )(?P<name>[A-Z][a-z][\w-]*) (?:[a-z]+ly )?(?!is )(?:has|does|will|\w+s) "
    r"(?!(?:are|have|can|may|do|don't|get|go)\b)"
    r"|(?<=[a-z`,] )(?!(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Mondays?|Tuesdays?|Wednesdays?|Thursdays?|Fridays?|Saturdays?|Sundays?)\b)[A-Z][a-z]+\b"
)
"""A subject of one word in the singular without an article, which is mostly a name; or a name later on."""
_NOUN = late(r"\w+(?:ing|ion|ment|ity|ness|ance|ence|ure|age|ship|ism|s|us)$|\w+-\w+$")
"""Endings of a word that is no name."""


def shall_be(small: str, written: str, around: Surroundings) -> bool:
    """Tell whether a statement is a demand, by its words and by what surrounds it."""
    if not any(around) or small.endswith((":", "!")) or ASKS.search(small) or GREETING.match(small) or tells(small):
        return False
    name = _NAMED.search(written)
    of_a_name = name is not None and not _NOUN.match((name["name"] or "").lower())
    of_a_rule = _RULE.search(small) or _VALUE.match(written) or (around.asking and notes(small))
    if not of_a_rule and len(small.split()) < WORDS_MIN:
        return False
    return sum(around) + (2 if of_a_rule else 1) - (2 if of_a_name else 0) >= WEIGHT_MIN


@lru_cache(maxsize=1024)  # A sentence is judged twice where most of its paragraph are demands.
def tells(small: str) -> bool:
    """Tell whether a statement says how things are or were, or why."""
    small = _ASIDE.sub("", small)
    if _REASONS.search(small) or TOLD_BY_OTHERS.search(small):
        return True
    main = _CLAUSE.sub("", small)
    return bool(_TELLS.search(main) or NARRATED.match(small) or PAST.search(main) or FACT.search(small))


def asks_how(small: str) -> bool:
    """Tell whether a demand says how something is to be, so that the next sentence may go on with it."""
    return bool(REQUIRES.match(small) or _RULE.search(small))


def asks_for_new(small: str) -> bool:
    """Tell whether a demand asks for something that does not exist yet, and not for a repair."""
    if _REPAIRS.search(small) or requirement_kind(small) is not RequirementKind.GOAL:
        return False
    noun = _NEW_NOUN.match(small) and not states(small)
    return bool(noun or _NEW.search(small) or (instructs(small) and not _REMOVES.match(small)))


def announces(title: str) -> bool:
    """Tell whether a title asks for something new, or says that the text is a proposal."""
    body = title.partition(": ")[2] or title
    return bool(_PROPOSAL.match(title)) or (force_of(body) is not Force.NONE and asks_for_new(body))


def plans(small: str) -> bool:
    """Tell whether a sentence announces a change: it is hardly a demand, but what follows says how it shall be."""
    return bool(_PLANS.search(small))


def rules(small: str) -> bool:
    """Tell whether a statement has the form of a rule: below a mere name, it says what the name stands for."""
    return len(small.split()) >= WORDS_MIN and bool(_RULE.search(small)) and not tells(small)


def names(small: str) -> bool:
    """Tell whether a line only names a thing: "Gift cards"."""
    if not 0 < len(small.split()) <= NAME_WORDS_MAX:
        return False
    return not (states(small) or FAULTS.search(small) or _OVERVIEW.search(small))


LABEL = late(
    r"^[*_]{0,2}(?P<label>[A-Za-z][\w '/&-]{1,40}?)[*_]{0,2}(?P<colon>:| - | \u2013 | \u2014 )[*_]{0,2} *(?=\S)"
)
"""A name at the beginning of a sentence: "Window: Sunday"."""
UI = late(
    r"^(?:then )?(?:open|click|go to|log in|login|sign in|see|observe|scroll|type|press|navigate|select"
    r"|choose|enter|wait|start|visit|launch|run|create a|upload a|reload|refresh|notice|tap|hit|switch to"
    r"|close|have a)\b"
)
"""An item about what somebody does with a program."""
VERSION = late(r"^\W*[a-z][\w .+/-]{1,30}[ :=]+v?\d+(?:\.\d+)+|^\W*\w[\w ]{0,20}: ?\S+$")
"""An item about an environment, such as "Debian 12.1" or "arch: arm64"."""


def without_label(small: str) -> str:
    """Return a sentence without the name at its beginning."""
    label = LABEL.match(small)
    return small[label.end() :] if label else small


def standing_force(small: str) -> Force:
    """Return how surely a sentence, or what follows its label, asks for something."""
    return max(force_of(small), force_of(without_label(small)))


def is_asked(role: Role, form: BlockForm, small: str, force: Force) -> bool:
    """Tell whether a sentence is a demand where it stands."""
    match role:
        case Role.ASKED:
            return force is not Force.NONE or (form is not BlockForm.CELL and not describes(small))
        case Role.LISTED:
            return force is not Force.NONE or notes(small) or shall_be(small, small, Surroundings(asking=True))
        case Role.OBSERVED:
            return form is BlockForm.PROSE and is_modal(small)
        case Role.TOLD:
            return force is Force.STRICT
        case Role.NEUTRAL:
            return force is Force.STRICT or (force is Force.WISH and form is not BlockForm.CELL)
        case Role.SILENT:
            return False
    assert_never(role)


def specifies(every: list[str]) -> bool:
    """Tell whether the items of a list, or the sentences below a mere name, say how something is to be.

    They are judged together: some ask or have the form of a rule, and none tells how things are.
    """
    asking = sum(standing_force(small) is not Force.NONE or rules(small) for small in every)
    told = sum(standing_force(small) is Force.NONE and (tells(small) or describes(small)) for small in every)
    return len(every) > 1 and not told and 2 * asking >= len(every)
