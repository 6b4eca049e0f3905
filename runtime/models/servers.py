"""What a home knows about the servers of its models."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from runtime.models.port import Fault
from runtime.models.providers import is_loopback

_GATEWAY = frozenset({502, 504})
"""The HTTP statuses with which a gateway says that the server behind it gave no answer."""


@dataclass(frozen=True, slots=True)
class Servers:
    """What all runs of a home know about its servers."""

    charge_gateway_errors: bool = True
    """Whether a 502 or 504 is charged, unless the server is on this machine."""

    def with_charge(self, fault: Fault, base_url: str) -> Fault:
        """Return a fault of a server, marked as unpaid where it is an error of a gateway that is not charged."""
        if fault.status not in _GATEWAY:
            return fault
        free = not self.charge_gateway_errors or is_loopback(urlsplit(base_url).hostname or "")
        return fault.model_copy(update={"unpaid": free})
