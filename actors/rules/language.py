"""Determines the programming language of a problem by its stack traces, files, code blocks and words."""

from collections import Counter

from actors.rules.facts import Facts
from actors.rules.tables import Rules
from actors.rules.text import Text, words

UNKNOWN = "unknown"
"""The language of a text without any sign."""
HITS_MAX = 5
"""Occurrences of one word that count."""
FENCES_MAX = 20
"""Code blocks that count."""


def language_of(text: Text, facts: Facts, rules: Rules) -> str:
    """Return the language with the highest score, in lower case, or `unknown`; of several, the first in the table."""
    table = rules.languages
    score: Counter[str] = Counter()
    for trace in facts.traces:
        score[trace.language] += table.weights.trace
    for file in facts.files:
        if language := table.extensions.get(file.rpartition(".")[2].lower()):
            score[language] += table.weights.file
    for fence in text.fences[:FENCES_MAX]:
        language = table.fences.get(fence, fence)
        if language in table.languages:
            score[language] += table.weights.fence
    counts = Counter(words(text.prose))
    for name, language_table in table.languages.items():
        hits = sum(min(counts[word], HITS_MAX) for word in language_table.words)
        score[name] += hits * table.weights.word
    best = max(table.languages, key=lambda name: score[name])
    return best if score[best] else UNKNOWN
