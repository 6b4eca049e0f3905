"""Writes draws of the posterior: `python docs/posterior_draws.py CURVES`, with the folder of the recorded curves."""
# ruff: noqa: INP001 -- a script, not a package

import sys
from collections.abc import Iterator
from pathlib import Path

from replan_lab.experiments.calibration import load_calibration, read_curve
from replan_lab.experiments.likelihood import odds_of, posterior_draws

FOLDER = Path(__file__).parent / "experiments" / "full" / "profiles"
ROW = "gpt4_blocksworld"
"""The curve that the odds of `base` are fitted to."""
COUNT, SEED, THIN = 20, 3, 150
"""The number of draws, the seed of their chain, and its steps from one draw to the next."""
TEXT = """\
# yaml-language-server: $schema=../../../../packages/lab/configs/schemas/profile.schema.json
name: {name}
based_on: base
description: As base, with odds that are draw {number} of their posterior.
odds: {odds}
"""
"""The text of a profile."""


def profile_files(curves: Path) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of each profile, from the recorded curves in a folder."""
    row = next(row for row in load_calibration().dialogues if row.name == ROW)
    for number, logs in enumerate(posterior_draws(read_curve(row, curves), COUNT, SEED, THIN), 1):
        values = ", ".join(f"{name}: {value}" for name, value in odds_of(logs).model_dump().items())
        name = f"draw_{number:02d}"
        yield name, TEXT.format(name=name, number=number, odds=f"{{{values}}}")


if __name__ == "__main__":
    for name, text in profile_files(Path(sys.argv[1])):
        (FOLDER / f"{name}.yaml").write_text(text)
