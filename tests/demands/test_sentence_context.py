"""Whether a sentence is a demand depends on where it stands."""

import pytest

from actors.demands.blocks import BlockForm, Role
from actors.demands.patterns import Force
from actors.demands.reader import is_demand

PLAIN = "the export is slow"
MODAL = "the export must keep the order"
NONE, WISH, STRICT = Force.NONE, Force.WISH, Force.STRICT


@pytest.mark.parametrize(
    ("role", "form", "small", "force", "asked"),
    [
        (Role.ASKED, BlockForm.PROSE, MODAL, STRICT, True),
        (Role.ASKED, BlockForm.PROSE, "the export was slow yesterday", NONE, False),
        (Role.ASKED, BlockForm.ITEM, "a button for the export", NONE, True),
        (Role.ASKED, BlockForm.CELL, "a button for the export", NONE, False),
        (Role.ASKED, BlockForm.CELL, "a button for the export", WISH, True),
        (Role.OBSERVED, BlockForm.PROSE, MODAL, NONE, True),
        (Role.OBSERVED, BlockForm.ITEM, MODAL, STRICT, False),
        (Role.OBSERVED, BlockForm.PROSE, PLAIN, STRICT, False),
        (Role.TOLD, BlockForm.PROSE, PLAIN, STRICT, True),
        (Role.TOLD, BlockForm.PROSE, PLAIN, WISH, False),
        (Role.NEUTRAL, BlockForm.CELL, PLAIN, STRICT, True),
        (Role.NEUTRAL, BlockForm.CELL, PLAIN, WISH, False),
        (Role.NEUTRAL, BlockForm.PROSE, PLAIN, WISH, True),
        (Role.NEUTRAL, BlockForm.PROSE, PLAIN, NONE, False),
        (Role.SILENT, BlockForm.PROSE, MODAL, STRICT, False),
    ],
)
def test_a_sentence_is_a_demand_by_its_role_its_form_and_its_words(role, form, small, force, asked):
    assert is_demand(role, form, small, force) is asked
