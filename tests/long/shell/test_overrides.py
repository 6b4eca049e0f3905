"""The variants that the simulation uses really replace something: a renamed method must not disarm one silently."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

MODULES = [
    importlib.import_module(f"tests.long.shell.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("*.py"))
    if path.stem not in ("__init__", "test_overrides")
]


def _subclasses(owner, module):
    """Return the classes that are defined in a module or class, also inside of others, and have a base class."""
    own = [value for value in vars(owner).values() if inspect.isclass(value) and value.__module__ == module]
    return [cls for outer in own for cls in (outer, *_subclasses(outer, module)) if cls.__mro__[1] is not object]


def _without_effect(cls, source):
    """Return the methods of a class that override nothing and that its module does not use."""
    inherited = {name for base in cls.__mro__[1:] for name in vars(base)}
    used = set(re.findall(r"(?<!super\(\))\.(\w+)", source))
    return [name for name, value in vars(cls).items() if inspect.isfunction(value) and name not in inherited | used]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_each_method_of_a_variant_overrides_one_or_is_used(module):
    source = inspect.getsource(module)
    assert {
        cls.__qualname__: names
        for cls in _subclasses(module, module.__name__)
        if (names := _without_effect(cls, source))
    } == {}


def test_a_method_that_overrides_nothing_is_found():
    class Base:
        def _post(self):
            """Do nothing."""

    class Variant(Base):
        def post(self):
            """Override nothing, since the method of the base has another name."""

    assert _without_effect(Variant, "await super().post()") == ["post"]
    assert _without_effect(Variant, "await variant.post()") == []
