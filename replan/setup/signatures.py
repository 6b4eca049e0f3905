"""Whether a plug-in's function can be called with the values that it will get."""

import inspect
from collections.abc import Callable
from typing import Any


def takes(function: Callable[..., Any], count: int) -> bool:
    """Tell whether a function can be called with so many values; one without a signature is taken to be right."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True
    return True
