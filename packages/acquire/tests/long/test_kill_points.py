"""`kill -9` of an acquisition run at the labelled points that the quick tests leave out."""

import pytest

from packages.acquire.tests.acquisition.test_kill import POINTS, QUICK, Case, check_kill, undisturbed  # noqa: F401


@pytest.mark.parametrize("label", sorted({*POINTS} - {*QUICK}))
def test_a_kill_at_a_labelled_point_changes_nothing(label, commands, undisturbed, tmp_path):  # noqa: F811
    check_kill(label, Case(tmp_path, commands), undisturbed)
