"""Whether a plain statement says how something new shall be: "a card is valid for three years". Pure.

Such a statement has the words of a fact. What decides is the evidence around it (`Surroundings`), its form, and that
nothing in it speaks of how things are: the past, the present day, a reason, a fault, the writer's own things.
"""

import re
from typing import NamedTuple

from actors.demands.facts import FACT
from actors.demands.instructions import instructs, states
from actors.demands.kinds import kind_of
from actors.demands.patterns import ASKS, PAST, REQUIRES
from actors.demands.words import any_of
from actors.values.requirements import RequirementKind

WEIGHT_MIN = 3
"""The weight of the evidence from which on a statement is a demand."""
NAME_WORDS_MAX = 5
"""Words of a line that only names a thing."""


class Surroundings(NamedTuple):
    """What stands before a statement."""

    titled: bool = False
    """Whether the title or the paragraph before asks for something new, or the heading names what is wanted."""
    new: bool = False
    """Whether a sentence of the paragraph asks for something new."""
    follows: bool = False
    """Whether the sentence before is a demand that says how something is to be."""
    asking: bool = False
    """Whether a demand stands before it in a paragraph of which half are demands by their own words."""

    @property
    def weight(self) -> int:
        """How much it speaks for a demand."""
        return self.titled + self.new + self.follows + self.asking


_RULE = any_of(
    r"^(?:only|each|every|any|all|both|no|nobody|nothing|an?|one|if|when|once|until|unless|after|before|on|for|by"
    r" default|in case|instead|also|old|new|existing)\b",
    r"^(?:[\w'-]+ ){1,5}?(?:can|may|cannot|can't|will|won't|never|always|only|no longer|no more)\b",
    r"\b(?:stays?|remains?|keeps?|survives?)\b|\bstill (?:works?|opens?|runs?|gets?|sees?|exists?)\b",
    r"\b(?:is|are|gets?) (?:[\w]+ly |also |then |always |never |not |only |all )*"
    r"(?:\w{2,}(?:ed|en|wn|pt)|sent|built|set|put|kept|held|read|left|made|shown|sold)\b",
    r"\b(?:at most|at least|at the latest|by default|default|maximum|minimum|per)\b",
    r"^(?:they|it|its|their|these|those|this|the (?:former|latter|rest|others?|result|same))\b",
)
"""Forms in which rules are written: a quantifier, a condition, a permission, a passive, what stays, a limit."""
_TELLS = any_of(
    r"\b(?:because|since|already|currently|today|nowadays|now|at present|so far|until now|these days|last|ago|yet"
    r"|otherwise|therefore|means|meaning|reason|though|although|however|anyway|apparently|unfortunately|actually)\b",
    r"\b(?:usually|often|sometimes|normally|mostly|rarely|probably|perhaps|maybe|might|would|could|likely"
    r"|again and again)\b",
    r"\b(?:we|our|ours|i|i'm|i've|my|me|us|you|your|colleagues?)\b",
    r"\b(?:think|thinks|believe|know|knows|known|depends?|seems?|looks?|look like|suffers?|complains?)\b",
    r"\b(?:slow|slower|broken|wrong|hard|easy|difficult|fine|bad|ugly|annoying|confusing|unclear|unaffected|affected"
    r"|impossible|useless|outdated|expensive|cheap|nice|great|right|correct|correctly|incorrect|incorrectly|empty"
    r"|blank|used|enough|too|twice|why|huge|popular|busy|familiar|available to|responsible)\b",
    r"\b(?:fails?|crash(?:es)?|hangs?|breaks?|leaks?|lags?|flickers?|vanish(?:es)?|loses?|lost|misses|jumps?"
    r"|times out|piles? up|blows? up|stuck|suffers?|wastes?|errors? out|slows?)\b",
    r"\bthere(?: is|'s| are) (?!a (?:button|link|switch|limit|page)\b)",
    r"\b(?:is|are|lies?|sits?|lives?) (?:in|under|at|near|on|behind|inside) (?:the |a |an |our |`)",
    r"\b(?:about|around|roughly|approximately|nearly|almost|some|~) ?\d|\b\d[\d.,]* ?% of\b",
    r"\b(?:written in|based on|made by|built (?:on|with)|owned by|comes? from|comes? with|consists? of|handles)\b",
    r"\bthe (?:current|present|legacy|provider|vendor|supplier|manufacturer|library|upstream)\b",
    r"^(?:that|this|it|which)(?:'s| is| are| has| makes| takes| happens| works)\b(?! (?:\w+ed|shown|sent|kept|valid)\b)",
)
"""Words of a statement that tells how things are, or why."""
_NEW = any_of(
    r"\b(?:i|we|they|users?|customers?|people|team|\w+s) (?:\w+ly |also |still |just )?(?:need|want|would like"
    r"|'d like|propose|suggest|request|wish|plan|are looking for|am looking for)\b",
    r"\b(?:need|needs|want|wants|would like|'d like|propose|proposes|suggest|wish for|looking for)"
    r" (?:to (?!know|see why|understand)|a\b|an\b|that\b|new\b|one\b|some\b|more\b)",
    r"\bwould be (?:\w+ )?(?:nice|great|good|helpful|useful|cool|awesome|handy|lovely|wonderful)\b",
    r"\bshould be (?:able|possible)\b|\b(?:must|should|shall|has to|have to|needs? to) (?:let|allow|support|offer"
    r"|provide)\b",
    r"\bfrom (?:now|\w+ \d*) ?on\b|\bin (?:the )?future\b",
    r"\b(?:proposal|feature|feature request|story|user story|rfc|spec|specification|epic|idea|wish|concept)\b ?:",
    r"^as (?:an?|the) [^,]{1,60},? (?:i|we) (?:want|would like|need|can)\b",
)
"""A sentence that asks for something that does not exist yet."""
_NAME_ENDS = re.compile(r"\w+(?:ing|ion|ment|ity|ness|ance|ence|ure|age|ship|ism|s|us)$|\w+-\w+$")
_CASES = re.compile(r"^(?P<name>[A-Z][\w-]*) (?:[a-z]+ly )?(?:is|has|does|allows|keeps|uses|runs|\w+s)\b")
"""A sentence whose subject is one word in the singular without an article, mostly a name."""
_REPAIRS = re.compile(
    r"\b(?:fix(?:ed)?|repair|mend|correct|resolve|investigate|find|debug|look|check|revert|restore|roll back|restart"
    r"|stop|prevent|avoid|no longer|again|find out|make sure)\b"
)
_OFFERS = re.compile(r"(?:the |an? |each |every |all |both )?(?:[\w'-]+ ){1,3}(?:can|may|will be able to) (?!not\b)")
_FAULTS = re.compile(
    r"\b(?:bugs?|crash(?:es)?|leaks?|errors?|issues?|problems?|failures?|fails?|timeouts?|regressions?|slow|flaky|wrong"
    r"|missing|outages?|incidents?|post-?mortem|broken|how|why|what|overview|introduction)\b"
)


def shall_be(small: str, written: str, around: Surroundings) -> bool:
    """Tell whether a statement is a demand, where it stands."""
    if not around.weight or ASKS.search(small) or small.endswith((":", "!")):
        return False
    if tells(small):
        return False
    name = _CASES.match(written)
    named = name is not None and not _NAME_ENDS.match(name["name"].lower()) and name["name"] != "Default"
    form = 2 if _RULE.search(small) else 1
    return form + around.weight - named >= WEIGHT_MIN


def tells(small: str) -> bool:
    """Tell whether a statement says how things are or were, or why."""
    return bool(_TELLS.search(small) or PAST.search(small) or FACT.search(small))


def asks_how(small: str) -> bool:
    """Tell whether a demand says how something is to be, so that the next sentence may go on with it."""
    return bool(REQUIRES.match(small) or _RULE.search(small))


def asks_for_new(small: str) -> bool:
    """Tell whether a demand asks for something that does not exist yet, and not for a repair."""
    if _REPAIRS.search(small) or kind_of(small) is not RequirementKind.GOAL:
        return False
    return bool(_NEW.search(small)) or instructs(small)


def offers(small: str) -> bool:
    """Tell whether a sentence says what somebody can do: below a mere name, it says what the name stands for."""
    return bool(_OFFERS.match(small)) and not tells(small)


def names(small: str) -> bool:
    """Tell whether a line only names a thing: "Gift cards"."""
    return 0 < len(small.split()) <= NAME_WORDS_MAX and not states(small) and not _FAULTS.search(small)
