"""Classifies a problem's text by weighted signals: its kind, its severity, and whether it is too short to plan."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from actors.rules.facts import Facts, content_words
from actors.rules.tables import KINDS, Rules
from actors.rules.text import Text, find, lower, shorten

SIGNALS_MAX = 8
"""Signals quoted for one kind."""
ERROR_LENGTH_MAX = 120
"""Characters of an error message in a signal."""

_ERROR_NAME = re.compile(r"[A-Za-z0-9](?:Error|Exception)$")


@dataclass(frozen=True, slots=True)
class Classification:
    """The classification of a text."""

    ranking: tuple[str, ...]
    """The kinds of problem, by descending score."""
    scores: Mapping[str, float]
    """The score of each kind."""
    signals: Mapping[str, tuple[str, ...]]
    """The quotes that support each kind."""
    severity: str
    """`low`, `medium` or `high`."""
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


def classify(text: Text, facts: Facts, rules: Rules) -> Classification:
    """Return the classification of a text."""
    table = rules.signals
    prose = text.prose
    lowered, title = lower(prose), lower(facts.title)
    scores: dict[str, float] = {}
    signals: dict[str, tuple[str, ...]] = {}
    for kind in KINDS:
        hits: list[tuple[float, int, str]] = []
        for phrase, weight in table.types[kind].items():
            if places := find(lowered, phrase):
                start, end = places[0]
                score = weight * (1 + (len(places) - 1) / 2) + weight * table.title_weight * bool(find(title, phrase))
                hits.append((-score, start, prose[start:end]))
        structure = table.structure.get(kind, {})
        if facts.traces:
            hits.append((-structure.get("stack_traces", 0.0), 0, shorten(facts.traces[0].error, ERROR_LENGTH_MAX)))
        error_name = next((name for name in facts.apis if _ERROR_NAME.search(name)), None)
        if error_name:
            hits.append((-structure.get("error_names", 0.0), 0, error_name))
        if facts.steps:  # The steps are too long to be quoted as a signal.
            hits.append((-structure.get("reproduction_steps", 0.0), 0, ""))
        hits = sorted(hit for hit in hits if hit[0] < 0)
        scores[kind] = -sum(score for score, _, _ in hits)
        signals[kind] = text.quotes((quote for _, _, quote in hits), limit=SIGNALS_MAX)
    ranking = (
        tuple(sorted(KINDS, key=lambda kind: -scores[kind]))
        if any(scores.values())
        else ("feature", *_others("feature"))
    )
    best, second = scores[ranking[0]], scores[ranking[1]]
    enough = table.thin.words if best > 0 else table.thin.words_without_signal
    return Classification(
        ranking=ranking,
        scores=scores,
        signals=signals,
        severity=_severity(lowered, rules),
        cues=frozenset(cue for cue, phrases in table.cues.items() if any(find(lowered, phrase) for phrase in phrases)),
        firm=best >= table.firm.score and best - second >= table.firm.lead * best,
        thin=len(content_words(prose, rules)) < enough and not facts.anchored,
    )


def _others(kind: str) -> tuple[str, ...]:
    return tuple(other for other in KINDS if other != kind)


def _severity(lowered: str, rules: Rules) -> str:
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
