"""What a step of a workflow is: a generator, the guard that judges it, its budgets, and where a failure may go back to.

Values only; what a key that a step leaves out means is answered by `actors.config.workflow.Workflow`.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasChoices, Field, StringConstraints

from actors.files.explain import Config
from actors.guards.composite_spec import Composite, Guard, Name

COUNT_MAX = 100_000
"""The largest count of attempts or calls that is not a slip of the keyboard."""
SECONDS_MAX = 86_400.0
"""The longest time limit, one day."""
StepId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Positive = Annotated[int, Field(strict=True, ge=1, le=COUNT_MAX)]
Count = Annotated[int, Field(strict=True, ge=0, le=COUNT_MAX)]
Patience = Annotated[int, Field(strict=True, ge=2, le=COUNT_MAX)]
"""The same failure this many times is stagnation; once is not a repetition."""
Seconds = Annotated[float, Field(strict=True, gt=0, le=SECONDS_MAX, allow_inf_nan=False)]


CHILD = "workflow:"
"""What the name of a generator starts with that is a run of another workflow."""


class ActionPair(Config):
    """A generator and the guard that judges what it makes."""

    generator: Name
    """Who makes the artifact."""
    guard: Guard
    """Who judges it: a guard's name, or several guards as one."""
    requires: tuple[StepId, ...] = ()
    """The steps whose accepted artifacts this one needs."""
    description: str = ""
    """One line for people."""
    role: Name | None = None
    """What policies and prompts call this step; null derives it from the guard."""
    rmax: Positive | None = None
    """Attempts per visit; null takes the workflow's."""
    backtrack_budget: Count = 0
    """Visits beyond the first: how often a later failure may come back here."""
    r_patience: Patience | None = None
    """So many equal failures in a row are stagnation; null takes the workflow's."""
    e_max: Count | None = None
    """Escalations that this step may cause in a round; null takes the workflow's."""
    escalate_to: tuple[StepId, ...] = Field(
        default=(), validation_alias=AliasChoices("escalate_to", "escalate_feedback_to")
    )
    """The earlier steps to redo when this one stagnates, instead of the nearest."""
    escalate_by_guard: Mapping[str, tuple[StepId, ...]] = Field(
        default_factory=dict, validation_alias=AliasChoices("escalate_by_guard", "escalate_feedback_by_guard")
    )
    """The same for failures of one guard, by its name here, also where the target level raises it."""
    prompt: Name | None = None
    """The prompt entry; null takes the one of the step's id, else the one of its role."""
    generator_config: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of the generator."""
    guard_config: Mapping[str, Any] = Field(default_factory=dict)
    """Settings of the guard."""
    child_calls: Positive | None = None
    """Calls that one run of `workflow:NAME` may take; null takes its worst case, or its own cap where that is less."""
    deterministic: bool | None = None
    """Whether no model is called; null asks the generator."""
    concurrency: Annotated[int, Field(strict=True, ge=1, le=256)] = 4
    """Branches of a run that this step serves at once."""
    timeout_seconds: Seconds | None = None
    """Time limit of one model call; null takes the workflow's."""
    output_tokens_max: Positive | None = None
    """Length limit of one reply; null takes the workflow's."""

    @property
    def child(self) -> str | None:
        """The workflow that the generator runs, if it is one."""
        return self.generator.removeprefix(CHILD) if self.generator.startswith(CHILD) else None

    @property
    def guards(self) -> tuple[str, ...]:
        """The names of the guard, or of the members of the composite."""
        return self.guard.members if isinstance(self.guard, Composite) else (self.guard,)
