"""Which kind a problem is, by weighted signals; how severe; and whether the text says enough to plan from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from actors.rules.extract import Facts, content_words
from actors.rules.tables import KINDS, Rules
from actors.rules.text import Text, find, lower, shorten

SIGNALS_SHOWN = 8
ERROR_LENGTH_MAX = 120

_ERROR_NAME = re.compile(r"[A-Za-z0-9](?:Error|Exception)$")


@dataclass(frozen=True, slots=True)
class Classification:
    """The kinds in the order of their scores, what was quoted for the best one, and what follows from the whole text.

    `firm` says whether the best kind is clearly ahead; `thin` whether the text is too thin to plan from; `cues` are the
    names of the cue tables that the text touches.
    """

    ranking: tuple[str, ...]
    scores: Mapping[str, float]
    signals: Mapping[str, tuple[str, ...]]
    severity: str
    cues: frozenset[str]
    firm: bool
    thin: bool

    def kind(self, choice: int = 0) -> str:
        """Return the best kind, or with `choice` the next best that has any signal; the last of these at most."""
        backed = [kind for kind in self.ranking if self.scores[kind] > 0] or [self.ranking[0]]
        return backed[min(choice, len(backed) - 1)]


def classify(text: Text, facts: Facts, rules: Rules) -> Classification:
    """Weigh the signals of the text."""
    table = rules.signals
    prose = text.prose
    small, title = lower(prose), lower(facts.title)
    scores: dict[str, float] = {}
    signals: dict[str, tuple[str, ...]] = {}
    for kind in KINDS:
        hits: list[tuple[float, int, str]] = []
        for phrase, weight in table.types[kind].items():
            if places := find(small, phrase):
                start, end = places[0]
                worth = weight * (1 + (len(places) - 1) / 2) + weight * table.title_weight * bool(find(title, phrase))
                hits.append((-worth, start, prose[start:end]))
        structure = table.structure.get(kind, {})
        if facts.traces:
            hits.append((-structure.get("stack_traces", 0.0), 0, shorten(facts.traces[0].error, ERROR_LENGTH_MAX)))
        named = next((name for name in facts.apis if _ERROR_NAME.search(name)), None)
        if named:
            hits.append((-structure.get("error_names", 0.0), 0, named))
        if facts.steps:
            hits.append(
                (-structure.get("reproduction_steps", 0.0), 0, "")
            )  # the steps are too long to quote as a signal
        hits = sorted(hit for hit in hits if hit[0] < 0)
        scores[kind] = -sum(worth for worth, _, _ in hits)
        signals[kind] = text.quotes((quote for _, _, quote in hits), limit=SIGNALS_SHOWN)
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
        severity=_severity(small, rules),
        cues=frozenset(cue for cue, phrases in table.cues.items() if any(find(small, phrase) for phrase in phrases)),
        firm=best >= table.firm.score and best - second >= table.firm.lead * best,
        thin=len(content_words(prose, rules)) < enough and not facts.anchored,
    )


def _others(kind: str) -> tuple[str, ...]:
    return tuple(other for other in KINDS if other != kind)


def _severity(small: str, rules: Rules) -> str:
    """A stated low severity outweighs frightening words; otherwise the most severe word decides."""
    said = rules.signals.severity
    levels = {"low": said.low, "high": said.high}
    for level, phrases in levels.items():
        if any(find(small, phrase) for phrase in phrases if "severity" in phrase):
            return level
    for level, phrases in reversed(levels.items()):
        if any(find(small, phrase) for phrase in phrases):
            return level
    return "medium"
