"""Messages and docstrings: no sentence is too long, or has a construction that is out.

`tests/docs/english.py` has the rules. `tests/docs/test_words.py` reads the pages by them.
"""

import pytest

from tests.docs.english import breaches
from tests.tidy.draw import of_docstrings, of_messages
from tests.tidy.source import report


@pytest.mark.parametrize("texts", [of_messages, of_docstrings])
def test_sentences_are_short_and_plain(texts):
    found = list(texts())
    assert len({place.partition(":")[0] for place, _ in found}) >= 200, "the sentences are found"
    report(f"{place}: {breach}" for place, sentence in found for breach in breaches(sentence))
