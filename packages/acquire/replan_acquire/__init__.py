"""Acquisition runs for Replan: fill a typed schema by searching documents, asking people and calculating.

Call `acquire`, or `aacquire` in a trio or asyncio program. A public name is imported at its first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replan_acquire.acquisition.result import AcquisitionResult
    from replan_acquire.api import aacquire, acquire

__all__ = ["AcquisitionResult", "aacquire", "acquire"]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in __all__:
        raise AttributeError(f"module 'replan_acquire' has no attribute {name!r}")
    return getattr(import_module("replan_acquire.api"), name)
