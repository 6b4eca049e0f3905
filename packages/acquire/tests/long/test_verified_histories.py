"""`home verify` finds nothing wrong in the histories of acquisitions."""

from packages.acquire.tests.acquisition.stage import Stage, prepared
from packages.acquire.tests.acquisition.test_corrections import GIVEN
from packages.acquire.tests.histories.test_acquisition_histories import HISTORIES, AcquisitionInterpreter
from replan_acquire.acquisition.answers import make_correction
from replan_acquire.acquisition.kind import ACQUISITION
from tests.long.journal.test_verified_histories import check_histories, histories


def reopened():
    """Return the events of an acquisition that a told value reopens twice, after its success."""
    stage = Stage(prepared(given=GIVEN))
    for text in ("market.customers=3000", "segment.win_rate=20 %"):
        stage.post(**make_correction(stage.state, text))
        stage.resume()
    assert [event.kind for event in stage.events].count("run_finished") == 3
    return stage.events


async def test_nothing_is_wrong_with_the_histories_of_acquisitions(tmp_path):
    written = histories([(ACQUISITION, HISTORIES, AcquisitionInterpreter)])
    await check_histories(tmp_path / "journal.sqlite", [*written, (ACQUISITION, "acquisition-reopened", reopened())])
