"""Each limit of a run holds in an acquisition, and the command has an option for it."""

import pytest

from actors.run.limits import LIMITS, flag
from replan.cli.app import app
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from replan_acquire.acquiring import prepare_to_acquire
from replan_acquire.acquisition.prepare import AcquisitionInput
from runtime.core.errors import UsageProblem
from tests.support.limits import VALUES, check_limit


def prepared(limits):
    """Return a prepared acquisition with these limits."""
    wish = AcquisitionInput("market_size", "Shops.", limits=limits)
    how = {"registry": registry(), "environment": {}, "config": UserConfig()}
    return prepare_to_acquire(wish, None, "quoting:", **how).request


@pytest.mark.parametrize("name", sorted(VALUES.keys() - {"stop_below", "keep_trying"}))
def test_a_limit_that_is_given_holds(name):
    check_limit(name, prepared({name: VALUES[name]}), prepared({}))


def test_an_acquisition_weighs_no_moves():
    with pytest.raises(UsageProblem, match="has no belief"):
        prepared({"stop_below": 0.25})
    assert prepared({"keep_trying": True}).limits.stop_below is None


def test_the_command_has_each_limit_and_takes_plug_ins():
    options = [option for param in app.get_command(None, "acquire").params for option in param.opts]
    assert {*map(flag, LIMITS), "--plugins"} <= set(options)
