"""Whether a sentence is an instruction: "cache the rates", not "profile pictures are blurred". Pure."""

import itertools

from actors.demands.patterns import any_of, late, word_set
from actors.demands.verbs import (
    AUXILIARIES,
    CLAUSE_WORDS,
    COMPLEMENT_VERBS,
    NOUN_VERBS,
    OBJECT_WORDS,
    PLAIN_VERBS,
    THIRD_PERSON,
)

_WORD = late(r"[\w'./$-]*[\w'$]")
_LEAD_IN = any_of(
    (
        r"^(?:(?:please|pls|kindly|also|and|but|so|then|just|next|finally|first of all|first|firstly|second"
        r"|secondly|third"
        r"|lastly|additionally|moreover|furthermore|ideally|optionally|maybe|perhaps|therefore|instead"
        r"|otherwise|now|again"
        r"|plus|oh and|hey,?|ok(?:ay)?,?|further|in addition|at the same time|in particular|above all"
        r"|most importantly|importantly|at minimum|as a minimum|for now|by default|note that|remember that"
        r"|always|simply|at least|one more thing|that said|todo|task|action|ask|ps|p\.s\.|nb|important|note"
        r"|note well|nit|fyi),?:? *(?:- )?)+"
    ),
)
_CONDITION = late(
    r"^(?:if|when|whenever|where|while|once|before|after|for|in|on|at|during|with|until|as soon as|in case"
    r"|unless|whatever|whichever|no matter|regardless of|to|by|from|within|under|because|since|given"
    r"|as) [^,:;]{2,120}[,:] +(?:please |then |also )?"
)

_CONSEQUENCE = late(r"(?:,|;| \u2013| -)? (?:so|then|hence|therefore) (?:please |just |let's )?(?=\w)")
_COMPOUND = late(
    r"\w+(?:ing|tion|tions|ment|ments|ity|ance|ence|ness|ure|time|times|size|rate|page|name|code|\w*pth|\w*gth|\w*dth)$"
)
"""Endings of a noun that follows a noun: "cache invalidation", "report page"."""


_PAUSE = late(r"(?<=\w{3})[,;] (?!(?:and|or)\b)(?=(?:there|it|they|we|i|he|she|the|this|that|otherwise|our|my)\b)")
"""The beginning of a second main clause: its verbs say nothing about the first one."""
_NUMBER = late(r"\d{3,}$")
"""The number of a thing: "order 88213"."""
_ARTICLES = frozenset(("a", "an", "the", "its", "their", "our", "it", "them"))
"""Words before which a verb in the third person is hardly a plural noun."""
_DETERMINERS = frozenset(("a", "an", "the", "my", "our"))
"""Words that hardly follow another word at the beginning of a sentence than a verb."""
_NO_VERBS = word_set(
    "love hate like enjoy hope guess miss wonder thank half quite plus minus despite beside per via till amid save",
    "maybe perhaps besides inside outside",
)
"""Words before an object that ask for nothing: the writer's own feelings, prepositions."""
_OCCUR = word_set(
    "appear arrive blink bounce come crash differ disappear exist expire fail flicker grow happen hang jump leak look",
    "misbehave occur overlap pile recur seem stack take vanish don't",
)
"""Base forms without an object: after a plural noun they make a statement, "push notifications arrive twice"."""


def instructs(small: str) -> bool:
    """Tell whether a sentence begins with an instruction, also after "please" or a condition."""
    return _imperative(small) or follows_lead_in(small)


def follows_lead_in(small: str) -> bool:
    """Tell whether an instruction follows "please", "also" or a condition."""
    rest = _LEAD_IN.sub("", small)
    if rest != small and _imperative(rest):
        return True
    condition = _CONDITION.match(rest)
    if condition and _imperative(_LEAD_IN.sub("", rest[condition.end() :])):
        return True
    consequence = _CONSEQUENCE.search(rest)
    return bool(consequence and _imperative(_LEAD_IN.sub("", rest[consequence.end() :])))


def _imperative(small: str) -> bool:
    words = _WORD.findall(_PAUSE.split(small[:300])[0] or small[:300])
    begin = small.lstrip("*_([\"'")
    if words[0:1] and words[0] in NOUN_VERBS and words[-1] == "instead" and not states(small):
        return True
    if not words or not begin.startswith(words[0]) or begin.startswith(":", len(words[0])):
        return False
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in {"do", "don't", "dont", "never", "donot"}:
        return bool(second) if first != "do" else second in {"not", "it", "this", "that", "the", "these", "all", "so"}
    if first == "let's":
        return True
    if second in {"and", "or"} and len(words) > 2 and (words[2] in PLAIN_VERBS or words[2] in NOUN_VERBS):
        second = words[3] if len(words) > 3 else ""
    if second in {"it", "them", "me", "us"} and first not in PLAIN_VERBS and first not in NOUN_VERBS:
        return _unknown_verb(first) and not _has_verb(words[2:8])
    if first in PLAIN_VERBS:
        return bool(second) and second not in AUXILIARIES and not _finite(first, words)
    again = first.startswith("re") and first[2:].lstrip("-") in PLAIN_VERBS | NOUN_VERBS
    if (first in NOUN_VERBS or again) and second:
        bare = small.split(maxsplit=2)[1]
        objects = (
            second in OBJECT_WORDS
            or bare[0] in "`\"'*/<[("
            or (bare[0].isdigit() and not _NUMBER.match(bare))
            or any(sign in second for sign in "._/-")
        )
        plural = second.endswith("s") and not second.endswith("ss") and len(words) > 2
        plain = len(words) > 3 and not _COMPOUND.match(second) and second not in NOUN_VERBS and second != "of"
        return (objects or plural or plain) and second not in AUXILIARIES and not _finite(first, words)
    return second in _DETERMINERS and _unknown_verb(first) and not _has_verb(words[2:8])


def _finite(first: str, words: list[str]) -> bool:
    """Tell whether a verb outside a clause makes the words a statement: "export to CSV fails"."""
    if first in COMPLEMENT_VERBS:
        return False
    if (
        len(words) > 2
        and words[1].endswith("s")
        and not words[1].endswith("'s")
        and any(word in _OCCUR and before not in {"to", "and", "or"} for before, word in itertools.pairwise(words[1:8]))
    ):
        return True
    for word, following in itertools.pairwise((*words[1:14], "")):
        if word in CLAUSE_WORDS - {"for", "than"}:
            return False
        if word in AUXILIARIES or word in THIRD_PERSON:
            return True
        if following in _ARTICLES and word.endswith("s") and (word[:-1] in NOUN_VERBS or word[:-1] in PLAIN_VERBS):
            return True
    return False


def _unknown_verb(word: str) -> bool:
    """Tell whether an unknown word before "it" or "them" is a verb: "reskin it", not "hopefully it works"."""
    known = (
        word in _NO_VERBS or word in CLAUSE_WORDS or word in AUXILIARIES or word in OBJECT_WORDS or word in THIRD_PERSON
    )
    return word.isalpha() and len(word) > 2 and not known and not word.endswith(("ly", "ing", "ed", "s"))


def _has_verb(words: list[str]) -> bool:
    return any(word in AUXILIARIES or word in THIRD_PERSON or word.endswith("n't") for word in words)


def states(small: str) -> bool:
    """Tell whether a sentence has a finite verb, as far as its auxiliaries show."""
    words = _WORD.findall(small[:300])
    return any(word in AUXILIARIES or word in THIRD_PERSON or word.endswith("n't") for word in words[1:]) or (
        words[:1] != [] and words[0].endswith(("'re", "'ve", "'m", "'ll"))
    )
