"""A host of a release that knows less than the journal's floor: it hands its runs over, says why, and ends."""

import pytest
import trio

from runtime.core.errors import FloorRaised, root_cause
from runtime.drive.options import Stop
from runtime.journal.versions import CODEC
from tests.host.fake_home import FakeHome, run_request


async def test_a_host_hands_its_runs_over_when_the_floor_is_raised(autojump_clock):
    home, ended = FakeHome(seconds=3.0), []
    async with home.engine() as engine:
        await engine.admit(run_request("a", "b"), run="first")
        await engine.admit(run_request("a"), run="second")

        async def serve():
            with pytest.raises(ExceptionGroup) as caught:
                await home.serve(engine, Stop(handover=True), runs_max=1)
            ended.append(root_cause(caught.value))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            await trio.sleep(1)
            assert home.store.runs["first"].owner is not None
            home.store.floor, home.store.version = CODEC + 1, home.store.version + 1
    assert isinstance(ended[0], FloorRaised)
    assert (ended[0].version, ended[0].newest) == (CODEC + 1, CODEC)
    assert [detail for event, _, detail in home.notices if event == "trouble"] == [str(ended[0])]
    held = home.store.runs["first"]
    assert (held.owner, held.summary.status, len(home.calls)) == (None, "running", 1)
    assert home.events("second") == []

    home.store.floor = CODEC  # The newer release, which knows the floor.
    async with home.engine() as engine, home.hosting(engine):
        await trio.sleep(30)
    assert home.row("first") == home.row("second") == ("finished", "success")
    assert len(home.calls) == 3


async def test_runs_of_a_newer_release_do_not_harm_those_that_the_host_drives(autojump_clock):
    home = FakeHome()
    async with home.engine() as engine:
        await engine.admit(run_request("a"), run="newer")
        home.store.runs["newer"].codec = CODEC + 1
        await engine.admit(run_request("a"), run="ours")
        async with home.hosting(engine):
            await trio.sleep(10)
    assert (home.row("ours"), home.row("newer")[0]) == (("finished", "success"), "running")
    assert home.events("newer") == []
