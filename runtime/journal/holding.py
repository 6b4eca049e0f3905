"""Who may drive a run, as every journal decides it from the lease in the run's row. Pure."""

from runtime.core.errors import Fenced, Held
from runtime.journal.port import Dead


def check_free(run: str, owner: str | None, end: float, now: float, dead: Dead) -> None:
    """Raise `Held` if a lease that ends at `end` is alive, and its owner is not proved to be gone."""
    if owner is not None and end > now and not dead(owner):
        raise Held(run, owner, end)


def check_driver(run: str, owner: str | None, current: int, epoch: int) -> None:
    """Raise `Fenced` unless the run was taken under this epoch and has not been released since."""
    if current != epoch or owner is None:
        raise Fenced(run, epoch, current)
