"""The simulated author as a model, and the loader of its profiles."""

from pathlib import Path

import trio
from pydantic import ValidationError

from actors.config.model_spec import Simulated
from actors.config.shipped_files import find_shipped
from actors.files.document import Document
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import read_document
from actors.simulated.author import answer
from actors.simulated.profile import Profile
from runtime.core.clock import Clock
from runtime.core.errors import UsageProblem
from runtime.models.port import Fault, ModelRequest, Reply

BASED_ON = "based_on"
"""The key of a profile that inherits the values of another one."""


class SimulatedModel:
    """A model that returns the replies of the simulated author, each after its simulated latency."""

    def __init__(self, profile: Profile, seed: int, clock: Clock) -> None:
        self._profile, self._seed, self._clock = profile, seed, clock

    @property
    def name(self) -> str:
        """The model's name, as after `--model`."""
        return address(Simulated(self._profile.name, self._seed))

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Return the reply, or the fault, after its latency."""
        await trio.lowlevel.checkpoint()
        reply, seconds = answer(self._profile, self._seed, request, self.name)
        await self._clock.sleep_until(self._clock.now() + seconds)
        return reply

    async def aclose(self) -> None:
        """Do nothing: the model holds no resources."""


def address(spec: Simulated) -> str:
    """Return the argument of `--model` that names a simulated author."""
    return f"simulated:{spec.profile}?seed={spec.seed}"


def load_profile(name: str, root: Path, *, place: str = "--model", own: Path | None = None) -> Profile:
    """Return a profile: that of this name in the folder `own`, else the shipped one.

    `place` is the flag or key that names it.

    Raises:
        UsageProblem: there is no such profile, or it is invalid; with file, line and the nearest valid name.
    """
    try:
        document = _document(name, root, own)
    except UsageProblem as problem:
        raise UsageProblem(problem.cause, place=problem.place or place, hint=problem.hint) from None
    value = document.value
    if isinstance(value, dict) and BASED_ON in value:
        base = _document(str(value[BASED_ON]), root, own)
        if not isinstance(base.value, dict) or BASED_ON in base.value:
            cause = f"{value[BASED_ON]!r} is itself based on another profile, or is none"
            raise document.problem(cause, (BASED_ON,), "name a profile without `based_on`")
        value = {**base.value, **value}
    try:
        profile = Profile.model_validate(value)
    except ValidationError as error:
        raise usage_problem(error, document) from None
    if profile.name != name:
        raise document.problem(f"the profile's name is {profile.name!r}", ("name",), f"its file is {name}.yaml")
    return profile


def _document(name: str, root: Path, own: Path | None) -> Document:
    if own is not None and (own / f"{name}.yaml").is_file():
        return read_document(own / f"{name}.yaml")
    return read_document(find_shipped(name, root / "configs" / "profiles", "profile", ()))
