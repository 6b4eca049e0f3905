"""Which programming language a problem is about, by its traces, files, code blocks and words."""

from collections import Counter

from actors.rules.extract import Facts
from actors.rules.tables import Rules
from actors.rules.text import Text, words

UNKNOWN = "unknown"
HITS_MAX = 5  # so many hits of one sign count


def language_of(text: Text, facts: Facts, rules: Rules) -> str:
    """Return the language that most signs speak for, in lower case, or `unknown`. Ties go to the first in the table."""
    table = rules.languages
    score: Counter[str] = Counter()
    for trace in facts.traces:
        score[trace.language] += table.weights.trace
    for file in facts.files:
        if language := table.extensions.get(file.rpartition(".")[2].lower()):
            score[language] += table.weights.file
    for fence in text.fences[:ITEMS]:
        language = table.fences.get(fence, fence)
        if language in table.languages:
            score[language] += table.weights.fence
    seen = Counter(words(text.prose))
    for name, language_table in table.languages.items():
        hits = sum(min(seen[word], HITS_MAX) for word in language_table.words)
        score[name] += hits * table.weights.word
    best = max(table.languages, key=lambda name: score[name])
    return best if score[best] else UNKNOWN


ITEMS = 20
