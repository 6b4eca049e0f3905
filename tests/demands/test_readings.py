"""What the reader of demands finds in three sets of texts, to the word (`readings.txt`).

`python -m tests.demands.test_readings` writes the file anew after an intended change, for a review of the difference.
"""

from pathlib import Path

from actors.demands.reader import read_demands
from tests.demands.evaluation import texts

FILE = Path(__file__).with_name("readings.txt")
SETS = ("held_out", "development", "fourth_development")


def lines():
    """Yield the demands of each text, each with its kind and its place."""
    for name in SETS:
        for text in texts(name):
            reading = read_demands(text["text"])
            yield f"{name}: {text['id']}{' -- ' if reading.unread else ''}{reading.unread}"
            yield from (f"  {each.kind} {each.start} {each.quote}" for each in reading.demands)


def test_each_text_is_read_as_it_is_written_down():
    assert [*lines()] == FILE.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
