"""Draws docstrings and documentation pages for a review of the language: `python -m tests.tidy.draw --seed 11`.

The reader is somebody who wrote none of them. A sentence that needs a second reading is rewritten, and the whole file
that it stands in is read. The same seed draws the same texts from the same tree.
"""

import argparse
import random

from tests.tidy.source import ROOT, SOURCES

DOCSTRINGS, PAGES = 40, 10
"""How many of each are drawn."""


def docstrings():
    """Return (place, text) of every docstring of the three packages, those of fields included."""
    return [
        (f"{module.name}:{item.lineno}", " ".join(item.value.value.split()))
        for module in SOURCES
        for item in module.bare_constants()
        if isinstance(item.value.value, str)
    ]


def pages():
    """Return the paths of the README and of every page in docs."""
    return sorted(path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True, help="draws the same texts again")
    draw = random.Random(parser.parse_args().seed)
    for place, text in sorted(draw.sample(docstrings(), DOCSTRINGS)):
        print(f"{place}\n    {text}")
    for page in sorted(draw.sample(pages(), PAGES)):
        print(page)


if __name__ == "__main__":
    main()
