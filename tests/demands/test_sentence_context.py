"""Whether a sentence is a demand depends on where it stands."""

import pytest

from actors.demands.blocks import Form
from actors.demands.force import Force
from actors.demands.headings import Role
from actors.demands.statements import is_asked

PLAIN = "the export is slow"
MODAL = "the export must keep the order"
NONE, WISH, STRICT = Force.NONE, Force.WISH, Force.STRICT


@pytest.mark.parametrize(
    ("role", "form", "small", "force", "asked"),
    [
        (Role.ASKED, Form.PROSE, MODAL, STRICT, True),
        (Role.ASKED, Form.PROSE, "the export was slow yesterday", NONE, False),
        (Role.ASKED, Form.ITEM, "a button for the export", NONE, True),
        (Role.ASKED, Form.CELL, "a button for the export", NONE, False),
        (Role.ASKED, Form.CELL, "a button for the export", WISH, True),
        (Role.LISTED, Form.ITEM, PLAIN, WISH, True),
        (Role.OBSERVED, Form.PROSE, MODAL, NONE, True),
        (Role.OBSERVED, Form.ITEM, MODAL, STRICT, False),
        (Role.OBSERVED, Form.PROSE, PLAIN, STRICT, False),
        (Role.TOLD, Form.PROSE, PLAIN, STRICT, True),
        (Role.TOLD, Form.PROSE, PLAIN, WISH, False),
        (Role.NEUTRAL, Form.CELL, PLAIN, STRICT, True),
        (Role.NEUTRAL, Form.CELL, PLAIN, WISH, False),
        (Role.NEUTRAL, Form.PROSE, PLAIN, WISH, True),
        (Role.NEUTRAL, Form.PROSE, PLAIN, NONE, False),
        (Role.SILENT, Form.PROSE, MODAL, STRICT, False),
    ],
)
def test_a_sentence_is_a_demand_by_its_role_its_form_and_its_words(role, form, small, force, asked):
    assert is_asked(role, form, small, force) is asked
