"""Values, whose schema is built at the first use."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from pydantic import ValidationError

from actors.planning.events import EVENTS
from runtime.core.events import Value

THREADS = 8


def new_class():
    """Return a class that nothing has used yet, with another one in a field."""

    class Inner(Value):
        number: int

    class Outer(Value):
        inner: Inner
        name: str = ""

    return Outer


@pytest.mark.parametrize("repeat", range(10))
def test_the_first_values_of_a_class_may_be_made_by_several_threads_at_once(repeat):
    outer, start = new_class(), Barrier(THREADS)

    def make(number):
        start.wait()
        return outer.model_validate({"inner": {"number": number}, "name": "x"})

    with ThreadPoolExecutor(THREADS) as threads:
        values = list(threads.map(make, range(THREADS)))
    assert [value.inner.number for value in values] == list(range(THREADS))


def test_an_unknown_key_is_refused_by_the_first_use():
    with pytest.raises(ValidationError, match="extra_forbidden"):
        new_class()(inner={"number": 1}, more=2)


def test_every_planning_event_has_a_schema():
    for event in EVENTS:
        assert event.model_rebuild() is not False
        assert event.__pydantic_complete__
