"""What every view shows of some histories of acquisitions (`views/*.txt`), as `tests/histories/test_views.py` says."""

from pathlib import Path

import pytest

from packages.acquire.tests.histories.test_acquisition_histories import AcquisitionInterpreter
from replan_acquire.acquisition.kind import ACQUISITION
from replan_acquire.acquisition.result import AcquisitionJson
from tests.histories.test_views import check_views

SHOWN = ("acquisitions/search_ask_calculate", "acquisitions/decline_and_requirement", "acquisitions/search_is_down")


@pytest.mark.parametrize("name", SHOWN)
def test_every_view_of_a_history_shows_what_is_written(name, request):
    check_views(Path(__file__).parent, name, (ACQUISITION, AcquisitionInterpreter, AcquisitionJson), request)
