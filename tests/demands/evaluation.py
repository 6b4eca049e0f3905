"""Measures the reader of demands on texts whose demands were marked by hand.

`python -m tests.demands.evaluation [SET]` prints what was missed, what was named and is no demand, and the shares;
`texts/README.md` says what a set is.
"""

import re
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from actors.demands.reader import read_demands
from tests.support.yaml_files import read_yaml

FOLDER = Path(__file__).with_name("texts")
_WORD = re.compile(r"\w+")


class Measured(NamedTuple):
    """What the reader made of one text, or of all texts of a set."""

    demands: int
    """Demands by hand, without the optional ones."""
    missed: tuple[str, ...]
    """Those of which the reader names nothing."""
    named: int
    """Demands that the reader names."""
    wrong: tuple[str, ...]
    """Those that lie in no demand by hand, an optional one included."""
    kinds: int
    """Found demands for which the reader has the kind of the hand."""

    @property
    def recall(self):
        return 1 - len(self.missed) / self.demands if self.demands else 1.0

    @property
    def precision(self):
        return 1 - len(self.wrong) / self.named if self.named else 1.0

    @property
    def kind_share(self):
        found = self.demands - len(self.missed)
        return self.kinds / found if found else 1.0


def sets():
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def texts(name):
    return read_yaml(FOLDER / f"{name}.yaml")


def same(one, other):
    """Tell whether two quotes mean one demand: half of the words of the shorter one stand in the other, in one run."""
    short, long = sorted((_WORD.findall(one.lower()), _WORD.findall(other.lower())), key=len)
    best, above = 0, [0] * (len(long) + 1)
    for word in short:
        row = [0] * (len(long) + 1)
        for place, each in enumerate(long):
            if word == each:
                row[place + 1] = above[place] + 1
        best, above = max(best, *row), row
    return bool(short) and 2 * best >= len(short)


def measure(text):
    read = read_demands(text["text"]).demands
    needed = [demand for demand in text["demands"] if not demand.get("optional")]
    found = {demand["quote"]: [each for each in read if same(demand["quote"], each.quote)] for demand in needed}
    return Measured(
        len(needed),
        tuple(quote for quote, each in found.items() if not each),
        len(read),
        tuple(each.quote for each in read if not any(same(demand["quote"], each.quote) for demand in text["demands"])),
        sum(demand["kind"] in {each.kind for each in found[demand["quote"]]} for demand in needed),
    )


@cache
def measured(name):
    """Return the sums over the texts of a set."""
    every = [measure(text) for text in texts(name)]
    return Measured(
        sum(each.demands for each in every),
        tuple(quote for each in every for quote in each.missed),
        sum(each.named for each in every),
        tuple(quote for each in every for quote in each.wrong),
        sum(each.kinds for each in every),
    )


def shares(name):
    every = measured(name)
    return (
        f"{name}: {len(texts(name))} texts, {every.demands} demands; found {every.recall:.1%}, "
        f"of {every.named} named {every.precision:.1%} are demands, kind as by hand {every.kind_share:.1%}"
    )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or sets():
        for each in texts(chosen):
            result = measure(each)
            for line in (*(f"missed  {quote}" for quote in result.missed), *(f"wrong   {q}" for q in result.wrong)):
                print(f"{each['id']}: {line}")
        print(shares(chosen))
