"""Classifies a problem's text by weighted signals: its kind, its severity, and whether it is too short to plan."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from actors.rules.decision import DECISION, DecisionTask
from actors.rules.facts import Facts, content_words
from actors.rules.sentence_forms import (
    CAPABILITY,
    INSTRUCTION,
    NAME,
    QUESTION,
    STATEMENT,
    WISH,
    Forms,
    after_topic,
    forms_of,
)
from actors.rules.tables import KINDS, RulesTables
from actors.rules.text import ProblemText, find, lower, shorten

DECISION_SCORE = 10.0
"""The score of a text that asks for a decision."""
SIGNALS_MAX = 8
"""Signals quoted for one kind."""
ERROR_LENGTH_MAX = 120
"""Characters of an error message in a signal."""

LIST_ITEMS_MIN = 3
"""List items from which on a text is a specification."""
SIGNAL_LENGTH_MAX = 60
"""Characters of any other signal."""

_CODE = re.compile(r"[`/\\_{}<>=]|\w\(")
_ERROR_NAME = re.compile(r"[A-Za-z0-9](?:Error|Exception)$")


@dataclass(frozen=True, slots=True)
class Classification:
    """The kind of work that a text asks for, how surely it does, and by which of its words."""

    ranking: tuple[str, ...]
    """The kinds of problem, by descending score."""
    scores: Mapping[str, float]
    """For each kind the sum of the weights of its signals; 0 without any."""
    signals: Mapping[str, tuple[str, ...]]
    """The quotes that support each kind."""
    certainty: float
    """The share of the evidence that is for the best kind, 0 to 1."""
    severity: str
    """`low`, `medium` or `high`, as the text states it or its phrases suggest."""
    cues: frozenset[str]
    """The names of the cue tables with a phrase that the text contains."""
    firm: bool
    """Whether the best kind has a high score and a clear lead."""
    thin: bool
    """Whether the text has too little content to plan from."""

    def kind(self, choice: int = 0) -> str:
        """Return the kind at place `choice` of the ranking, or the last one, among those with a signal."""
        supported = [kind for kind in self.ranking if self.scores[kind] > 0] or [self.ranking[0]]
        return supported[min(choice, len(supported) - 1)]


@dataclass(frozen=True, slots=True, order=True)
class _Hit:
    """A sign of a kind; hits are sorted by weight, the heaviest first, and then by place."""

    minus_score: float
    place: int
    quote: str


def classify(text: ProblemText, facts: Facts, rules: RulesTables) -> Classification:
    """Return the classification of a text, by the first pages of its parts."""
    table = rules.signals
    prose = text.head
    lowered = lower(prose)
    opening = _opening(facts.title, rules)
    forms = forms_of(text, facts.title, table.headings.not_prose, rules.forms)
    scores: dict[str, float] = {}
    signals: dict[str, tuple[str, ...]] = {}
    for kind in KINDS:
        # What a title plainly asks for outweighs the symptoms that it names.
        title = "" if kind == "bug_fix" and opening.keys() - {kind} else lower(facts.title)
        hits = _apart([*_phrases(prose, lowered, title, kind, rules), *_patterns(prose, lowered, title, kind, rules)])
        hits += _structure(facts, kind, rules)
        hits += _formed(facts.title, forms, kind, rules)
        factor = _factor(kind, forms, opening if not facts.traces else {}, rules)
        hits = [_Hit(hit.minus_score * factor, hit.place, hit.quote) for hit in hits]
        if kind in opening:
            hits.append(_Hit(-table.opening_weight, 0, opening[kind]))
        hits = sorted(hit for hit in hits if hit.minus_score < 0)
        scores[kind] = -sum(hit.minus_score for hit in hits)
        signals[kind] = text.quotes(_widest(hit.quote for hit in hits), limit=SIGNALS_MAX)
    if forms.proposal and scores["performance"] >= rules.forms.weights["motive"]:
        scores["feature"] *= rules.forms.weights["means"]  # What is new in such a proposal is the means.
    if forms.title == STATEMENT:
        # What a title states is a symptom, unless the words say that it is about speed or about the code.
        others = max(scores["refactoring"], scores["performance"]) >= table.firm.score
        scores["bug_fix"] += rules.forms.weights["statement"] * (0.5 if forms.proposal or others else 1)
        quoted = shorten(facts.title, SIGNAL_LENGTH_MAX)
        signals["bug_fix"] = text.quotes(signals["bug_fix"] or (quoted,), limit=SIGNALS_MAX)
    if max(scores.values()) < table.certainty.least and _names_a_thing(facts.title, lowered, forms):
        for kind, weight in table.noun_phrase.items():
            scores[kind] += weight
            signals[kind] = text.quotes((facts.title, *signals[kind]), limit=SIGNALS_MAX)
    return _summed_up(text, facts, rules, scores, signals)


def decided(classification: Classification, decision: DecisionTask) -> Classification:
    """Return the classification of a text that asks for a decision: that kind first, by its words."""
    return replace(
        classification,
        ranking=(DECISION, *classification.ranking),
        scores={**classification.scores, DECISION: DECISION_SCORE},
        signals={**classification.signals, DECISION: decision.words},
        certainty=1.0,
        firm=True,
    )


def _factor(kind: str, forms: Forms, opening: Mapping[str, str], rules: RulesTables) -> float:
    """Return by what the weights of the words for a kind are multiplied.

    What a text plainly asks for outweighs its other words: symptoms are then a motive, and what is removed or added is
    the matter of the proposal.
    """
    weights = rules.forms.weights
    if forms.advisory:
        return 1.0
    if kind == "bug_fix" and forms.proposal:
        return weights["proposal_symptom"]
    if kind == "bug_fix":
        asked = forms.title == INSTRUCTION and opening and kind not in opening
        return weights["asked_symptom"] if asked else 1.0
    return weights["aim_other"] if forms.proposal and {kind, forms.aim[0]} == {"feature", "refactoring"} else 1.0


def _summed_up(
    text: ProblemText, facts: Facts, rules: RulesTables, scores: dict[str, float], signals: dict[str, tuple[str, ...]]
) -> Classification:
    """Return the classification with these scores."""
    table = rules.signals
    lowered = lower(text.head)
    ranking = (
        tuple(sorted(KINDS, key=lambda kind: -scores[kind]))
        if any(scores.values())
        else ("feature", *_others("feature"))
    )
    best, second = scores[ranking[0]], scores[ranking[1]]
    enough = table.thin.words if best > table.certainty.least else table.thin.words_without_signal
    prior = table.certainty.prior
    return Classification(
        ranking=ranking,
        scores={**scores, DECISION: 0.0},
        signals={**signals, DECISION: ()},
        certainty=(best + prior) / (best + second + 2 * prior),
        severity=_severity(lowered, rules),
        cues=frozenset(cue for cue, phrases in table.cues.items() if any(find(lowered, phrase) for phrase in phrases)),
        firm=best >= table.firm.score and best - second >= table.firm.lead * best,
        thin=len(content_words(text.head, rules)) < enough and not facts.anchored,
    )


def _phrases(prose: str, lowered: str, title: str, kind: str, rules: RulesTables) -> Iterator[_Hit]:
    """Yield the phrases of a kind that the text contains; further hits of one phrase count half."""
    table = rules.signals
    for phrase, weight in table.types[kind].items():
        if places := find(lowered, phrase):
            start, end = places[0]
            score = weight * (1 + (len(places) - 1) / 2) + weight * table.title_weight * bool(find(title, phrase))
            yield _Hit(-score, start, prose[start:end])


def _patterns(prose: str, lowered: str, title: str, kind: str, rules: RulesTables) -> Iterator[_Hit]:
    """Yield the patterns of a kind that the text matches."""
    for pattern, weight in rules.signals.compiled_patterns[kind]:
        if match := pattern.search(lowered):
            factor = 1 + rules.signals.title_weight * bool(title and pattern.search(title))
            yield _Hit(-weight * factor, match.start(), shorten(prose[match.start() : match.end()], SIGNAL_LENGTH_MAX))


def _apart(hits: Iterable[_Hit]) -> list[_Hit]:
    """Return the heaviest hits that do not overlap: no word speaks twice for a kind."""
    kept: list[_Hit] = []
    for hit in sorted(hits):
        end = hit.place + len(hit.quote)
        if all(end <= other.place or hit.place >= other.place + len(other.quote) for other in kept):
            kept.append(hit)
    return kept


def _widest(quotes: Iterable[str]) -> list[str]:
    """Return the quotes without those that another one contains."""
    distinct = list(dict.fromkeys(quotes))
    return [quote for quote in distinct if not any(quote != other and quote in other for other in distinct)]


def _structure(facts: Facts, kind: str, rules: RulesTables) -> Iterator[_Hit]:
    """Yield what the shape of the text says about a kind."""
    weights = rules.signals.structure.get(kind, {})
    if facts.traces:
        yield _Hit(-weights.get("stack_traces", 0.0), 0, shorten(facts.traces[0].error, ERROR_LENGTH_MAX))
    error_name = next((name for name in facts.apis if _ERROR_NAME.search(name)), None)
    if error_name:
        yield _Hit(-weights.get("error_names", 0.0), 0, error_name)
    if facts.steps:  # The steps are too long to be quoted as a signal.
        yield _Hit(-weights.get("reproduction_steps", 0.0), 0, "")


def _opening(title: str, rules: RulesTables) -> dict[str, str]:
    """Return the kinds as whose titles this one begins, each with the words that it begins with."""
    small = lower(title)
    lead_in = rules.signals.compiled_lead_in.match(small)
    starts = {lead_in.end() if lead_in else 0, *after_topic(small)}  # "Imports: speed up" begins with "speed up", too.
    openings: dict[str, str] = {}
    for kind, pattern in rules.signals.compiled_openings.items():
        for match in (pattern.match(small, start) for start in sorted(starts)):
            if match:
                openings.setdefault(kind, title[match.start() : match.end()].strip())
    longest = max(map(len, openings.values()), default=0)  # "Introduce an interface" says more than "introduce".
    return {kind: words for kind, words in openings.items() if len(words) == longest}


def _formed(title: str, forms: Forms, kind: str, rules: RulesTables) -> Iterator[_Hit]:
    """Yield what the forms of the sentences say about a kind; a wish of the title counts like one below it."""
    weights = rules.forms.weights
    below = [(sentence, form) for sentence, form in forms.below if sentence]
    quoted = shorten(title, SIGNAL_LENGTH_MAX)
    for sentence, form in below:
        if form in (INSTRUCTION, WISH) and kind in (openings := _opening(sentence, rules)):
            yield _Hit(-weights["instruction_below"], 1, openings[kind])
    if forms.proposal and not forms.advisory and kind == (forms.aim[0] or "feature"):
        yield _Hit(-weights["aim" if forms.aim[0] else "proposal"], 0, forms.aim[1])
        if kind == forms.aim[0] and rules.forms.compiled_aims[kind].match(lower(title)):
            yield _Hit(-weights["aim_title"], 0, "")
    if kind == "bug_fix":
        if forms.advisory:
            yield _Hit(-weights["advisory"], 0, forms.advisory)
        statements = [sentence for sentence, form in below if form == STATEMENT][:2]
        yield from (_Hit(-weights["statement_below"], 1, "") for _ in statements if not forms.proposal)
    elif kind == "feature" and not forms.advisory:
        if forms.items >= LIST_ITEMS_MIN and forms.title not in (STATEMENT, INSTRUCTION):
            yield _Hit(-weights["list"], 1, "")
        if forms.title == INSTRUCTION and not forms.code_title and not _tells_otherwise(title, rules):
            yield _Hit(-weights["instruction"], 0, quoted)
        if forms.title in (CAPABILITY, QUESTION):
            yield _Hit(-weights[forms.title], 0, quoted)
        if forms.title == NAME and (below or forms.items >= LIST_ITEMS_MIN):
            yield _Hit(-weights["name"], 0, quoted)
        if forms.title == WISH:
            yield _Hit(-weights["wish_title"], 0, quoted)
        wishes = [sentence for sentence, form in below if form in (WISH, QUESTION, CAPABILITY)]
        yield from (_Hit(-weights["wish"], 1, "") for _ in wishes[:2])
    elif kind == "refactoring":
        yield from (_Hit(-weights["code_title"], 0, _written(word, title)) for word in forms.code_title[:3])
        yield from (_Hit(-weights["code_below"], 1, "") for _ in forms.code_below[:4])
        if forms.title == INSTRUCTION and forms.code_title:
            yield _Hit(-weights["instruction_code"], 1, "")
    else:
        yield from (_Hit(-weights["quantity"], 1, "") for _ in forms.quantities[:3])


def _tells_otherwise(title: str, rules: RulesTables) -> bool:
    """Return whether the words with which an instruction begins speak for a kind by themselves."""
    aims = (pattern.match(lower(title)) for kind, pattern in rules.forms.compiled_aims.items() if kind != "feature")
    return bool(_opening(title, rules)) or any(aims)


def _written(word: str, title: str) -> str:
    """Return a word as the title writes it."""
    place = lower(title).find(word)
    return title[place : place + len(word)] if place >= 0 else ""


def _names_a_thing(title: str, lowered: str, forms: Forms) -> bool:
    """Return whether the text is a title alone, and the title has no verb that can be recognised as one."""
    alone = len(lowered) <= len(title) + 2 and title.count(" ") >= 1
    return alone and not _CODE.search(title) and forms.title == NAME


def _others(kind: str) -> tuple[str, ...]:
    return tuple(other for other in KINDS if other != kind)


def _severity(lowered: str, rules: RulesTables) -> str:
    """Return the severity of a lower-case text: the one that it states, else the highest with a phrase in the text."""
    table = rules.signals.severity
    levels = {"low": table.low, "high": table.high}
    for level, phrases in levels.items():
        if any(find(lowered, phrase) for phrase in phrases if "severity" in phrase):
            return level
    for level, phrases in reversed(levels.items()):
        if any(find(lowered, phrase) for phrase in phrases):
            return level
    return "medium"
