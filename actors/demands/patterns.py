"""Patterns for English sentences: requests, statements about how things are, and the kinds of demands. Pure.

The argument `small` of the functions is one sentence in lower case. The patterns were chosen with the texts in
`tests/demands/texts`. `docs/explanation/demands.md` says how often the patterns are right.
"""

import itertools
from enum import IntEnum
from functools import lru_cache

from actors.demands.verbs import (
    AUXILIARIES,
    CLAUSE_WORDS,
    COMPLEMENT_VERBS,
    NOUN_VERBS,
    OBJECT_WORDS,
    PLAIN_VERBS,
    THIRD_PERSON,
    VERB_ENDINGS,
)
from actors.values.format import lazy_pattern
from actors.values.requirements import RequirementKind

_DATE = (
    r"(?:the |this |next |coming |end of |early |late |mid[- ]?|our |due |on )*(?:(?:mon|tues?|wednes|thurs?|fri|satur"
    r"|sun)(?:day)?\b|(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b|\d{1,2}(?:st|nd|rd|th|\.)? (?:of )?(?:jan|feb|mar|apr|may|jun|jul"
    r"|aug|sep|oct|nov|dec)[a-z]*\b|\d{1,2}(?:st|nd|rd|th)\b|20\d\d\b|\d{1,2}\.\d{1,2}\.|\d{1,2}:\d\d"
    r"|\d{1,2} ?(?:am|pm)\b|to(?:day|morrow|night)\b|noon|midnight|weekend|week|month|quarter|year|sprint|release"
    r"|launch|audit|conference|demo|go-?live|freeze|deadline|q[1-4]\b|easter|christmas|spring|summer|autumn|winter)"
)
"""A day, a date or the end of a period. Patterns use it after a word such as "by"."""
_MONEY = r"(?:[$€£] ?\d|\d[\d.,]* ?k? ?(?:€|\$|£|usd\b|eur\b|euros?\b|dollars?\b|pounds?\b|quid\b|chf\b))"
_COUNT = r"(?:\d[\d.,]*|half an?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_SPAN = r"(?:hours?|days?|weeks?|months?|sprints?|years?)"
_PEOPLE = r"(?:engineers?|developers?|devs|people|persons?|contractors?|translators?|testers?|designers?|students?)"
_WHO = r"(?:i|we|they|you|qa|users|customers|the \w+|the \w+ \w+|our \w+)"

QUESTION = lazy_pattern(r"\?[\"')\]*_`]*$")
_POLITE = lazy_pattern(
    r"(?:^|[,;:.!-] |\b(?:and|but|so|also|ok|hi|hey|all) )(?:can|could|would|will) (?:you|u|we|someone|somebody|it|i"
    r"|an? \w+)\b(?! be (?:the|that)\b)",
    r"^(?:also |so )?(?:(?:i|we) )?(?:also |still )?(?:need|want)\b|\bwould it be possible\b|\bplease\b",
)
"""A request in the form of a question."""
_STRICT = lazy_pattern(
    r"\b(?:must|shall|mustn't|may not|may never|may only)\b|\bplease\b|\bmake sure\b|\b(?:is|are) (?:not )?to be\b",
    r"\b(?:needs?|has|have|ought|got) (?:\w+ly |also |still |not )?to\b(?! \d)|\b(?:is|are) not to\b",
    r"\b(?:is|are) (?:\w+ly |not |no longer |never )*(?:required|mandatory|forbidden|prohibited|allowed|permitted"
    r"|unacceptable)\b|\b(?:out of|not in) scope\b|\bno later than\b|\bunder no circumstances?\b|\bat all costs\b",
    r"\b(?:no|nothing|nobody|none|no one|no \w+|neither \w+)(?: [\w'-]+){0,4}? (?:may|must|should|shall)\b",
    r"^only (?:[\w'-]+ ){1,6}?(?:may|must|should|can)\b|\bmay (?:[\w'-]+ ){1,5}?(?:at most|no more than|at least)\b",
    r"\b(?:we|i) (?:cannot|can't|will not|won't) (?:just |simply |also )*(?:afford|change|take|lose|upgrade|touch|break"
    r"|patch|raise|replace|wait|send|ask|buy|have|accept|use|stop|drop)|\b(?:is|are) (?:not|no) (?:an option|option"
    r"|acceptable|permitted)\b|\bno[- ]?go\b|\bout of the question\b|(?:^|[,;] )leave [^,;:.?]{1,60} (?:out|alone)\b",
    r"\bmay [^,;:.?]{1,60}\b(?:at most|no more than|, not more)\b|\b(?:cannot|can't|may not) [^,;.?]{1,20} than\b",
)
"""Words that show that a sentence is a strict demand (`Force.STRICT`)."""
_WISH = lazy_pattern(
    rf"\bshould\b|\b{_WHO} (?:still |also |really |therefore |all )*(?:want|wants|needs?|require|expects?|ask you to"
    r"|insist)\b(?! (?:\d|so\b|about\b))|\b(?:i|we|it|they)(?:'d| would) (?:also |really )?(?:like|love|expect|rather"
    r"|need|want|prefer)\b|\b(?:would|'d) (?:also )?(?:be (?:so |very |really )*(?:nice|great|useful|cool|good"
    r"|better|acceptable|helpful|fine|enough)|help (?:if|to)\b|love to\b)|\b(?:i|we) (?:propose|suggest|recommend)\b"
    r"|^ideally\b|\bgotta\b",
    r"\b(?:i|we) (?:am|are|'m|'re) (?:obliged|required|asked) to\b|\b(?:needed|wanted)[.!]*$|\blet's\b|\bsupposed to\b",
    r"\b(?:goal|aim|task|idea) is to\b|^can (?:you|u|ya|somebody|someone)\b|(?:^|\bso )needs? [a-z\d\"]"
    r"|^from now on,? ",
    r"\b(?:stays?|remains?) (?:exactly )?(?:as (?:it|they) (?:is|are|do)|in (?:use|place)|untouched|unchanged)\b",
    r"\b(?:stays?|remains?)[.!]*$|\b(?:stay|remain) (?:unchanged|the same|valid|available)\b|\bdo(?:es)?(?: not|n't)"
    r" change[.!]*$|^(?!.*\b(?:but|still|so far)\b).*\b(?:keeps?|continues?) (?:working|to work|running)\b",
    r"^(?!.*\b(?:still|slow|broken|fails?)\b).*\bas (?:it (?:is|does) )?(?:today|before|now|they are)[.!]*$",
)
"""Words that show that a sentence states a wish (`Force.WISH`)."""
_NEEDLESS = lazy_pattern(
    r"\bno need (?:to|for)\b|\bcan wait\b|\bleave [\w ]{1,40} for |\b(?:is|are) (?:left out|excluded|exempt)\b",
    r"\b(?:is|are) not (?:needed|required|necessary|handled|included|covered|backported|reimbursed|replaced|migrated"
    r"|touched)\b|\bnot part of\b|\bneedn't\b|\b(?:do not|don't|doesn't) (?:want|need|have to|care)\b|\bout of scope\b",
    r"\bcan be (?:ignored|skipped)\b|\bnot in (?:this |the )?(?:[\w'-]+ )?(?:change|pr|scope)\b|\bno subject of (?:this"
    r"|it)\b|\b(?:comes?|follows?|looked at|handled|tracked) (?:separately|later|elsewhere)\b|^not asking (?:for|to)\b",
    r"\bnot (?:(?:your|my|our) job|ours)\b|\bwon't be (?!renewed)\w+ed\b|\b(?:is|are) left to the |\bbut not here\b",
    r"\bstays? out of (?:it|this)\b|\b(?:only|just) [^,;:.?]{1,60} (?:in scope|for now)\b|\b(?:has|in) its own "
    r"(?:ticket|issue|project)\b|\bseparate (?:ticket|issue|project)\b",
)
"""Words which say that a part of the work is not needed, or that others do this part."""
_NO_NOUN = lazy_pattern(
    r"^(?:(?:and|but|also|please|pls|then|so|oh),? )*(?:no|zero|without) (?!(?:error|idea|luck|problem|one)s?\b)"
)
_ONLY = lazy_pattern(r"^(?:only|just) (?!(?:happens?|affects?|occurs?|when|if|\d|an?\b|two\b|three\b|some\b))")
_BY_DATE = lazy_pattern(rf"^(?!.*\byou can\b)(?!.*\bis on\b).*\b(?:by|until|before|no later than) {_DATE}")
_LIMIT = lazy_pattern(
    r"\b(?:at most|at least|no more than|less than|within|under|up to|max(?:imum)?)\b[^.]{0,20}?[$€£]?\d"
    r"|[≤≥<>]=? ?[$€£]?\d|\d.*\bat most[.!]?$"
)
_PLANNED = lazy_pattern(
    r"(?:^(?:the |our |target )*(?:eta|due|go-?live|launch|cut-?over|release|target date|deadline)(?: date)?(?:,|:| is"
    r"| =)+ ?(?:is |on |set for )*|^we (?:ship|launch|release|move) (?:on|in|by|at) |^submission closes (?:on|at|in) "
    r"|\bfirst (?:[\w'-]+ ){0,5}?(?:is|would be) (?:the one )?(?:of )?"
    rf"|\b(?:picks? up|goes out|delivers) [^,;]{{0,50}}\bon ){_DATE}",
    r"^(?:but |and )?not before\b|^ready for ",
    r"\b(?:done|live|finished|running|ready) (?:by|before) |^(?:before|in time for) [\w'-]+(?: [\w'-]+){0,4}[.!]*$",
    r"^(?:we|i) (?:only )?have [$€£]?\d[\d.,]*k? ?(?:€|euros?|hours|days|weeks)\b(?! (?:a|of|ago)\b)",
    r"^(?:each|every|no|any) [^,;:.?]{1,80} (?:exactly|at most|at least) \w+\b|\bmaintenance windows? is\b",
    r"\b(?:target|limit|maximum) is [$€£]? ?\d|\b(?:is|are) (?:limited|restricted) to\b",
)
"""A statement of a plan that sets a date or a limit."""
COSTS = lazy_pattern(
    rf"\bbudget\b|\b(?:person|man|dev)[- ]?days?\b|\b(?:costs?|spend|pay|bill|under|up to|max|fee|come to)\b.{{0,40}}?"
    rf"{_MONEY}|{_MONEY}.{{0,30}}\b(?:total|all in|available|left|at most)\b|\bmoney for\b|\bper head max",
    rf"\b{_COUNT} {_PEOPLE} (?:is|are|can|on (?:it|site))\b|\b{_COUNT}(?: [\w-]+)? {_PEOPLE}(?:,"
    rf"| for) {_COUNT} {_SPAN}",
)
"""Words for money, people or time that may be spent."""
_AVAILABLE = lazy_pattern(
    r"\b(?:we|i) (?:have|get)\b|\b(?:is|are) available\b|\bthere(?:'s| is| will be)\b|^[^,;:]{1,40} (?:has|can|may) "
    r"|budget"
)

_GREETING = lazy_pattern(
    r"^(?:(?:please|pls|thanks?|thx|cheers|so|very|much|a lot)[ ,.!]*)+$",
    r"^(?:(?:any )?(?:opinions?|thoughts|feedback|help) (?:is |are )?(?:welcome|appreciated)|(?:so |and )*(?:what"
    r"|how|why) (?:do|does|is) |(?:have|enjoy) (?:a|your"
    r"|the) |(?:with )?(?:kind |best |many )?(?:regards|thanks)|thank you|thx|cheers|sorry|keep up|i'm ooo"
    r"|happy to \w+|hope |welcome)\b",
)
_TOLD_BY_OTHERS = lazy_pattern(
    r"(?:^|; )(?:[^,;:]{1,60} )??(?!(?:i|we|be|is|to|must|should) )[\w.'-]+ (?:wrote|told|said|phoned|acknowledged"
    r"|reported|complained|noticed|claims?)\b[^;]*|\bmy app (?:now )?asks? |\b(?:customers?|users?|people) (?:have "
    r"|often )*(?:ask(?:s|ed)?|complain(?:ed)?)\b[^;,]*|\bbuy what we wants?\b|^\"[^\"]{12,}\""
)
"""Words that report what another person said, found or asks for."""
_NOT_ASKED = lazy_pattern(
    r"\b(?:should|must|could) have (?:been\b|had|\w+ed\b)|\bshould be (?:easy|ok|fine|simple)\b|\b(?:docs?|error|log"
    r"|it|ui|readme)s? says?\b[^,;]*|\bmay have to\b|\bif (?:you|we|i|it) (?:need|want|has)s?\b"
    r"|\b(?:please )?(?:call|ask|ping|contact|let) me\b|^(?:it|that)(?:'d| would) be [^,]{0,40}$|\b(?:i|we) (?:fear"
    r"|suspect|guess|think)\b[^,;]*",
    r"\bthat's (?:because|why)\b.*|\bnot sure (?:if|how|what|why)\b[^.]*|\bused to\b|\bwant(?:s|ed)? to (?:know|say"
    r"|ask)\b",
    r"\bplease (?:find|see) (?:the )?attach\w*|\bthanks? (?:for|in advance)|\bfirst post\b|\bfeel free\b",
)
"""Words that look like a demand but ask for nothing."""
_FACT = lazy_pattern(
    r"^(?!.*\b(?:may|must|at most)\b).*\bcosts? (?:(?:us|me|the \w+) )?(?:about |around |roughly )*[$€£]? ?\d"
    r"|\b(?:takes?"
    rf"|lasts?) (?:about |around |over )*{_COUNT} ?(?:ms|s|h|min|minutes?|seconds?|{_SPAN})\b(?!.*\bat most\b)",
    r"^(?!.*\b(?:at most|default|limit)\b).*\b(?:has|have|is|are) \d[\d.,]* ?(?:[kmgt]i?b|cores?|users|nodes?|rows)\b",
    r"\b(?:is|are) (?:stored|kept) (?:in|on|at) the (?:existing|old|same)\b|\d ?(?:%"
    r"|percent) of [\w -]{1,40} (?:come|do|fail)\b|^(?:rolled back|restarted|reverted|tried|checked)\b|^(?:only "
    r"|just )?\d+ (?:of|out of) |^[\w -]{1,40}s come from\b|^[\w-]+(?: \w+)?s (?:hang|crash|fail|arrive)\b"
    r"|^only (?:\d+ ?%|\w+ (?:users|customers) )",
)
"""A statement about how things are. Such a statement is a demand only if it contains a modal verb."""
_BURDEN = lazy_pattern(
    r"\b(?:i|we|you|they|users?|customers?|people|support|one) (?:\w+ )?(?:has|have|need) to\b(?! (?:move|migrate"
    r"|replace)\b)"
)
_BURDENED = lazy_pattern(
    r"\b(?:every (?:time|day|night|week|month|few)|by hand|manually|always|currently|(?:so|then) (?:we|i|they))\b"
)
"""Words which show that "we have to" is a complaint about how things are today."""
_NARRATED = lazy_pattern(
    r"^(?:since|yesterday|last (?:week|month|year|night)|currently|today|at (?:present|the moment)|until now|so far"
    r"|previously|usually|often|sometimes|in (?:all|most|\w+ out of \w+) cases)\b"
)
_PAST = lazy_pattern(
    r"\b(?:was|were|had|did|didn't|got|went|saw|ago)\b|\b(?:has|have) (?:already |now )?(?!to\b)(?:\w+ed|been|gone)\b"
    r"|\bsince (?:the|we|i|it|last)\b"
)
_CLAUSE = lazy_pattern(r"\b(?:if|when|that|which|who|where|until|before|after)\b.*")
"""A subordinate clause. Its tense does not show the tense of the main clause."""
_SMALL_PART = lazy_pattern(r"[(,;]")


def _expand_contractions(small: str) -> str:
    """Replace contractions in a sentence, such as "isn't" by "is not", so that patterns need only one form."""
    return small.replace("'ve got", " have").replace("isn't", "is not").replace("aren't", "are not")


class Force(IntEnum):
    """How clearly a sentence asks for something."""

    NONE = 0
    WISH = 1
    """The sentence expresses a wish. It counts as a demand below a neutral heading or a heading about wishes. It does
    not count below a heading about the past.
    """
    STRICT = 2
    """The sentence is a demand below all headings, except in steps to reproduce, logs and examples."""


@lru_cache(maxsize=1024)  # A sentence is judged in its list, in its paragraph and by itself.
def force_of(small: str) -> Force:
    """Return how clearly the words of a sentence ask for something."""
    small = _expand_contractions(small)
    if QUESTION.search(small):
        is_question = small.startswith(("why", "how", "what", "when", "which", "where", "should"))
        return (
            Force.STRICT if not is_question and _POLITE.search(small) and not _NOT_ASKED.search(small) else Force.NONE
        )
    if (small.endswith(":") and len(small) < 30) or _GREETING.match(small):
        return Force.NONE
    without = _NOT_ASKED.sub(" ", _TOLD_BY_OTHERS.sub(" ", small))
    reported = without != small
    if _BURDENED.search(without):
        without = _BURDEN.sub(" ", without)
    if _NARRATED.match(small):
        return Force.NONE
    if _STRICT.search(without):
        return Force.STRICT
    wished = _WISH.search(without) or _NEEDLESS.search(without)
    if reported:
        return Force.WISH if wished or instructs(without.strip(" ,;:")) else Force.NONE
    if instructs(small):
        return Force.STRICT
    if wished:
        return Force.WISH
    if _FACT.search(small):
        return Force.NONE
    if (_NO_NOUN.match(small) or _ONLY.match(small)) and not states(_SMALL_PART.split(small)[0]):
        return Force.WISH
    if _PAST.search(small):
        return Force.NONE
    limited = _LIMIT.search(small) and not _CLAUSE.match(small) and not states(small)
    costs = COSTS.search(small) and (not states(small) or _AVAILABLE.search(small))
    return Force.WISH if limited or costs or _BY_DATE.search(small) or _PLANNED.search(small) else Force.NONE


def describes(small: str) -> bool:
    """Return whether a sentence only describes how things are or were. Its heading may still ask for something."""
    if QUESTION.search(small) or _GREETING.match(small):
        return True
    if _STRICT.search(small) or _WISH.search(small):
        return bool(_NOT_ASKED.search(small)) and force_of(small) is Force.NONE
    is_narrated = _NARRATED.match(small) or _PAST.search(_CLAUSE.sub("", small))
    return bool(is_narrated or _NOT_ASKED.search(small)) and not instructs(small)


def is_modal(small: str) -> bool:
    """Return whether a sentence asks for something with a modal verb or a polite word."""
    return not (QUESTION.search(small) or _NARRATED.match(small)) and bool(_STRICT.search(_NOT_ASKED.sub(" ", small)))


_WORD = lazy_pattern(r"[\w'./$-]*[\w'$]")
_LEAD_IN = lazy_pattern(
    r"^(?:(?:please|pls|kindly|also|and|but|so|then|just|next|first of all|first|finally|ideally|maybe|instead|now"
    r"|again|oh and|note that|todo|ask|ps|nb|nit|fyi|always|simply),?:? *)+"
)
_CONDITION = lazy_pattern(
    r"^(?:if|when|once|where|while|before|after|for|in|on|at|during|to|by|from|as|until|unless) [^,:;]{2,120}[,:] +"
)
_CONSEQUENCE = lazy_pattern(r",? (?:so|then|therefore) ")
_COMPOUND = lazy_pattern(r"\w+(?:ing|tions?|ment|ity|ness|ure|time|size|rate|page|name|\w*pth)$")
"""A noun that often follows another noun, as in "cache invalidation" or "report page"."""
_PAUSE = lazy_pattern(r"[,;] (?=(?:there|it|they|we|i|he|she|the|this|our|my)\b)")
"""The beginning of a second main clause. The verbs of this clause are ignored."""
_DETERMINERS = frozenset(("a", "an", "the", "my", "our"))
_NO_VERBS = frozenset(
    ("love", "hate", "like", "hope", "half", "quite", "plus", "minus", "despite", "per", "via", "maybe")
)
"""Words that may stand before an object like a verb in the imperative, but do not begin an instruction."""
_OCCUR = frozenset(
    ("appear", "arrive", "come", "crash", "disappear", "fail", "grow", "hang", "happen", "jump", "vanish")
)
"""Verbs without an object. A plural noun and such a verb make a statement, such as "push notifications arrive
twice"."""


def instructs(small: str) -> bool:
    """Return whether a sentence begins with an instruction, perhaps after "please" or a condition."""
    if _is_imperative(small):
        return True
    rest = _LEAD_IN.sub("", small)
    if rest != small and _is_imperative(rest):
        return True
    for part in (_CONDITION.match(rest), _CONSEQUENCE.search(rest)):
        if part and _is_imperative(_LEAD_IN.sub("", rest[part.end() :])):
            return True
    return False


def _is_imperative(small: str) -> bool:
    words = _WORD.findall(_PAUSE.split(small[:300])[0] or small[:300])
    begin = small.lstrip("*_([\"'")
    if not words or not begin.startswith(words[0]) or begin.startswith(":", len(words[0])):
        return False
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in {"don't", "dont", "never", "donot"}:
        return bool(second)
    if first == "do":
        return second in {"not", "it", "this", "that", "the", "these", "all", "so"}
    if first == "let's":
        return True
    if first in NOUN_VERBS and words[-1] == "instead" and not states(small):
        return True
    if second in {"and", "or"} and len(words) > 2 and words[2] in PLAIN_VERBS | NOUN_VERBS:
        second = words[3] if len(words) > 3 else ""
    again = first.startswith("re") and first[2:].lstrip("-") in PLAIN_VERBS | NOUN_VERBS
    ends = len(first) > 5 and first.endswith(VERB_ENDINGS)
    if first in PLAIN_VERBS:
        return bool(second) and second not in AUXILIARIES and not _is_finite(first, words)
    pieces = small.split(maxsplit=2)
    if (first in NOUN_VERBS or again or ends) and len(pieces) > 1 and second:
        bare = pieces[1]
        plural = second.endswith("s") and not second.endswith("ss") and len(words) > 2
        plain = len(words) > 3 and not _COMPOUND.match(second) and second not in NOUN_VERBS and second != "of"
        numbered = bare[0].isdigit() and not second.isdigit()
        marked = bare[0] in "`\"'*/<[(" or numbered or any(sign in second for sign in "._/-")
        takes = second in OBJECT_WORDS or marked or plural or plain
        return takes and second not in AUXILIARIES and not _is_finite(first, words)
    if second in _DETERMINERS or second in {"it", "them", "me", "us"}:
        return _is_unknown_verb(first) and not _has_verb(words[2:8])
    return False


def _is_finite(first: str, words: list[str]) -> bool:
    """Return whether a main verb makes the words a statement, such as "fails" in "export to CSV fails"."""
    if first in COMPLEMENT_VERBS:
        return False
    pairs = list(itertools.pairwise((*words[1:14], "")))
    if words[1:2] and words[1].endswith("s") and any(word in _OCCUR and before != "to" for before, word in pairs[:7]):
        return True
    for word, following in pairs:
        if word in CLAUSE_WORDS and word not in {"for", "than"}:
            return False
        if word in AUXILIARIES or word in THIRD_PERSON:
            return True
        if following in {"a", "an", "the", "it", "its", "them"} and word[-1:] == "s" and word[:-1] in NOUN_VERBS:
            return True
    return False


def _is_unknown_verb(word: str) -> bool:
    """Return whether a word before "it" or "them" is probably a verb, although no list has it.

    "reskin it" begins with a verb, but "hopefully it works" does not.
    """
    known = any(word in words for words in (_NO_VERBS, CLAUSE_WORDS, AUXILIARIES, OBJECT_WORDS, THIRD_PERSON))
    return word.isalpha() and len(word) > 2 and not known and not word.endswith(("ly", "ing", "ed", "s"))


def _has_verb(words: list[str]) -> bool:
    return any(word in AUXILIARIES or word in THIRD_PERSON or word.endswith("n't") for word in words)


def states(small: str) -> bool:
    """Return whether a sentence has an auxiliary verb, or a known verb in the third person."""
    words = _WORD.findall(small[:300])
    return _has_verb(words[1:]) or (words[:1] != [] and words[0].endswith(("'re", "'ve", "'m", "'ll")))


_DELIVERED = r"\b(?:ship|merge|deploy(?:ed)?|finish(?:ed)?|needs?|live|ready|done|out)\b"
_DATED = lazy_pattern(
    rf"(?:\b(?:by|before|until|no later than) |{_DELIVERED}[^.]{{0,40}}\b(?:on|by|in) ){_DATE}",
    rf"{_DELIVERED}[^.]{{0,40}}\b(?:today|tomorrow|this (?:week|sprint)|next week)|\bdeadline\b|\basap\b",
)
_DATE_ONLY = lazy_pattern(
    r"\b(?:this|it|all|everything|the (?:fix|job|work|migration)) (?:must|has to|needs to|is|are|can|should) (?:be "
    r"|go|out|due|in|happen)|\bdeadline\b|\basap\b"
)
_DATED_WORDS_MAX = 8
_REASON = lazy_pattern(r"(?<=.{12})(?:\W+so that\b|,? because\b|, since\b|, which\b).*")
"""The part of a demand that gives a reason. The words of the reason do not show the kind of the demand."""
_FORBIDS = lazy_pattern(
    r"\b(?:must|may|shall|should)(?: not|n't)\b|\bnever |\b(?:do not|don't|dont)\b|\bavoid\b|\bno[- ]?go\b"
    r"|\bforbidden\b",
    r"\b(?:is|are) (?:not|no) (?:an )?(?:allowed|acceptable|option|possible|to|\w+ed)\b|\bout of the question\b",
    r"\b(?:cannot|can't|will not)\b|^(?:no|nothing|nobody|without)\b|^not \w+|\bunacceptable\b"
    r"|\b(?:no|nothing|nobody)\b.{1,60}\b(?:may|must|should|shall)\b",
)
_PROHIBITION = lazy_pattern(
    r"\b(?:must|may|shall|should)(?: not|n't)\b|\bnever\b|\b(?:do not|don't|dont|cannot|can't)\b|^(?:avoid|no)\b"
    r"|\bforbidden\b"
)
_KEEPS = lazy_pattern(
    r"\b(?:must|may|to|can|has to|should) (?:still|keep|stay|remain|continue|be (?:kept|preserved))\b"
    r"|^(?:please )?(?:keep|leave|preserve) |\b(?:stays?|remains?|untouched|unchanged)\b|\bkeeps? (?:its?|their|the"
    r"|his|her|all|on|working)\b",
    r"\b(?:continues?|(?:go|goes) on) (?:to |in |as |\w+ing)|\bas (?:(?:it|they) (?:is|are|do)|before|(?:today"
    r"|now)[.!]*$)",
    r"\b(?:do|does) not change\b|\bleft alone\b|\b(?:must|may|shall|can)(?: not|n't| never|not) (?:be )?(?:change|touch"
    r"|break|affect|modif|alter)|\bnothing (?:\S+ ){0,5}(?:may|can|must) change\b|\b(?:has|have"
    r"|must) (?:to )?be (?:the same|identical)\b|\b(?:do not|don't|never) (?:change|break|touch|alter|rename)\b"
    r"|\bwithout (?:breaking|changing)\b|\bbackwards?[- ]compatib",
)


def requirement_kind(small: str, default: RequirementKind = RequirementKind.GOAL) -> RequirementKind:
    """Return the kind of a demand according to its words; `default` if the words say nothing about the kind."""
    small = _REASON.sub("", _expand_contractions(small))
    if _NEEDLESS.search(small) or _ONLY.match(small):
        return RequirementKind.SCOPE
    if _KEEPS.search(small):
        return RequirementKind.MUST_KEEP
    if _PLANNED.search(small):
        return RequirementKind.BUDGET if COSTS.search(small) else RequirementKind.DEADLINE
    short = len(small.split()) <= _DATED_WORDS_MAX
    if _DATED.search(small) and (short or _DATE_ONLY.search(small)) and not _FORBIDS.search(small):
        return RequirementKind.DEADLINE
    if COSTS.search(small):
        return RequirementKind.BUDGET
    if _NO_NOUN.match(small) or (_FORBIDS.search(small) and (_PROHIBITION.search(small) or not instructs(small))):
        return RequirementKind.MUST_AVOID
    return default


LABEL = lazy_pattern(
    r"^[*_]{0,2}(?P<label>[A-Za-z][\w '/&-]{1,40}?)[*_]{0,2}(?P<colon>:| - | \u2013 | \u2014 )[*_]{0,2} *(?=\S)"
)
"""A label at the beginning of a sentence, such as "Window" in "Window: Sunday"."""


def strip_label(small: str) -> str:
    """Return a sentence without the label at its beginning."""
    label = LABEL.match(small)
    return small[label.end() :] if label else small


def force_with_label(small: str) -> Force:
    """Return the greater of two forces: of the whole sentence, and of the part after its label."""
    return max(force_of(small), force_of(strip_label(small)))


_RULE = lazy_pattern(
    r"^(?:only|each|every|any|all|no|nobody|an?|one|if|when|after|before|on|for|by|during|with|old|new|existing)\b",
    r"^(?:[\w'-]+ ){1,5}?(?:can|may|will|never|always)\b|\b(?:stays?|remains?|keeps?)\b|\b(?:per|by default)\b",
    r"\b(?:is|are|gets?) (?:\w+ly |also |then |not |only |never )*(?:(?!affected)\w{2,}(?:ed|en|wn|pt)|sent|set|put"
    r"|left|kept|shown|made|built)\b",
)
"""The forms of a rule. A rule has a quantifier, a condition, a permission or a passive, or says that something stays as
it is."""
_VALUE = lazy_pattern(r"(?:The )?[\w-]+ (?:is|are) [A-Z\d`\"$]")
"""A statement that sets a value, such as "Default is 20 GB"."""
_TELLS = lazy_pattern(
    r"^(?:most|many|half|few) |\b(?:might|would|could|usually|often|probably|last \w+|already|now|yet)\b"
    r"|^(?!.*\b(?:can|may|nobody)\b).*\b(?:by hand|manually)\b|^(?!if |when ).*\b(?:can't|cannot) (?!be )",
    r"^(?!i \w+ [^,]* and (?:the|it)\b)[^,;:]*\b(?:we|our|i|i'm|my|me|us|s?he)\b|\bthere(?: is|'s| are) |^it(?:'s| is"
    r"| has)\b(?! \w+ed\b)|\b(?:okay|ok|bad|slow|slower|broken|wrong|hard|annoying|used|why|enough|expensive|familiar"
    r"|fails?|crash(?:es)?|hangs?|lags?|exists?|stuck|overlaps?|complains?)\b",
    r"\b(?:is|are|lies?|lives?) (?:in|under|on) (?:the |our |`)|^(?!(?:\S+ ){0,5}?(?:is|are|be|been|has|can|may|must"
    r"|who|that) )(?:[\w'`/.()-]+ ){1,5}?(?:\w{2,}ed|found|met|won|lost) (?:to|the|an?|us|`|\d)",
    r"\b(?:because|currently|today|at present|at the moment|ago|however)\b|\b(?:about|roughly|around|~) ?\d|\d ?% of\b"
    r"|\bhas \d|\bcome from\b",
)
"""Words which show that a sentence is a report. They hedge, judge, complain, tell the past, or are about the writer's
own things."""
_MAIN = lazy_pattern(r"(?<=\w )\b(?:what|when|if|that|which|who|whose|where|until|after|before|once|unless)\b.*")
_ASIDE = lazy_pattern(
    r" ?\([^()]*\)|(?<=.{12})(?:,? (?:because|since|whereas)\b|, (?:as|so|which) | [-\u2013\u2014]{1,2} ).*"
)
"""A part of a sentence that only adds a reason, a contrast or a remark."""
_NEW = lazy_pattern(
    r"\b(?:i|we)(?:'d| would)? (?:need|want|like|propose)\b|\b(?:needs?|wants?|propose) (?:an?\b|that\b|new\b)"
    r"|\bwould be (?:\w+ )?(?:useful|nice|great|good)\b|\bshould be able\b|\bfrom (?:now|\w+) on\b|^(?:an?|one|some"
    r"|new) "
)
_REPAIRS = lazy_pattern(r"\b(?:fix(?:ed)?|repair|correct|revert|restore|restart|again|no longer|prevent|avoid)\b")
_REMOVES = lazy_pattern(r"(?:please )?(?:remove|delete|drop|retire|disable|rename|upgrade)\b")
_PLANS = lazy_pattern(
    r"\bwe(?:'re| are) (?:replacing|moving|introducing|building|adding|going to)\b|^starting (?:with|on|in)\b"
)
_PROPOSAL = lazy_pattern(r"\W*(?:proposal|feature(?: request)?|rfc|spec|epic|idea)\b[\w -]{0,10}[:\])-]")
_OVERVIEW = lazy_pattern(r"\b(?:how|why|what|overview|incidents?|post-?mortem)\b")
_NAMED = lazy_pattern(
    r"^(?!(?:Nobody|It|One|Two|Three|They|Each|Every|All|This|Support) )[A-Z][a-z]\w* (?!is )(?:has|does"
    r"|\w+s) (?!(?:are|can|may|do|get|go)\b)|(?<=[a-z`,] )(?!(?:[JFMASOND][a-z]*(?:uary|ch|ril|ay|une|uly|ust|ber)"
    r"|[A-Z][a-z]+days?)\b)[A-Z][a-z]+\b"
)
"""A sentence with a proper name. The name is the first word, before its verb, or a capitalised word later in the
sentence."""
_STATEMENT_WORDS_MIN = 4
_EVIDENCE_MIN = 3
"""The smallest sum of evidence, in points, that makes a statement a demand; see `specifies`."""


def specifies(small: str, written: str, evidence: int) -> bool:
    """Return whether a statement specifies something new, such as "a card is valid for three years".

    `written` is the statement in its original case. `evidence` is the number of signs of a request in the text
    around the statement.
    """
    if (
        not evidence
        or small.endswith((":", "!"))
        or QUESTION.search(small)
        or _GREETING.match(small)
        or _reports(small)
    ):
        return False
    of_a_rule = _RULE.search(small) or _VALUE.match(written)
    if not of_a_rule and len(small.split()) < _STATEMENT_WORDS_MIN:
        return False
    return evidence + (2 if of_a_rule else 1) - (2 if _NAMED.search(written) else 0) >= _EVIDENCE_MIN


@lru_cache(maxsize=1024)  # A sentence is judged twice where most of its paragraph are demands.
def _reports(small: str) -> bool:
    small = _ASIDE.sub("", small)
    main = _MAIN.sub("", small)
    is_report = _TELLS.search(main) or _TOLD_BY_OTHERS.search(small) or _PAST.search(main)
    return bool(is_report or _NARRATED.match(small) or _FACT.search(small))


def asks_how(small: str) -> bool:
    """Return whether a demand says how something must be, so that the next sentence may continue the demand."""
    return bool(_STRICT.search(small) or _WISH.search(small) or _RULE.search(small)) and not small.startswith("please")


def asks_for_new(small: str) -> bool:
    """Return whether a demand asks for something new rather than for a repair."""
    if _REPAIRS.search(small) or requirement_kind(small) is not RequirementKind.GOAL:
        return False
    return bool(_NEW.search(small) or (instructs(small) and not _REMOVES.match(small)))


def is_proposal(title: str) -> bool:
    """Return whether a title asks for something new, or calls the text a proposal."""
    body = title.partition(": ")[2] or title
    return bool(_PROPOSAL.match(title)) or (force_of(body) is not Force.NONE and asks_for_new(body))


def announces_change(small: str) -> bool:
    """Return whether a sentence announces a change, so that the next sentences may specify the change."""
    return bool(_PLANS.search(small))


def is_rule(small: str) -> bool:
    """Return whether a statement has the form of a rule."""
    return len(small.split()) >= _STATEMENT_WORDS_MIN and bool(_RULE.search(small)) and not _reports(small)


def is_name_only(small: str) -> bool:
    """Return whether a line only names a thing, such as "Gift cards"."""
    return 0 < len(small.split()) <= 5 and not (states(small) or _OVERVIEW.search(small))
