"""The fact that the policy has decided: stored without what follows from its node and level."""

from typing import Literal

from pydantic import Field

from actors.policy.belief_choice import Weighing
from actors.policy.cause import Cause
from actors.policy.decision import Decision
from actors.policy.table import REPLANS, BacktrackLevel
from actors.run.ids import step_of
from runtime.core.events import Event


class Decided(Event):
    """The policy decided what to do about a rejected node. The node's verdict says what failed."""

    kind: Literal["decided"] = "decided"
    node: str
    """The id of the attempt."""
    level: BacktrackLevel = BacktrackLevel.LOCAL_RETRY
    """How far back the search goes."""
    targets: tuple[str, ...] = ()
    """The steps that a replan redoes."""
    rule: str
    """The id of the policy's row, or the name of the built-in rule."""
    code: str = ""
    """The code of the finding that matched, else of the first one; empty for none."""
    wanted: tuple[str, ...] | None = None
    """The targets that the row asked for, where others were allowed."""
    delay_seconds: float = 0.0
    """The seconds of back-off before a retry; 0 for none."""
    classified: Cause | None = None
    """The classifier's code that selected the row."""
    weighing: Weighing | None = Field(default=None, exclude_if=lambda weighing: weighing is None)
    """What a belief policy went by."""

    @classmethod
    def of(cls, decision: Decision) -> "Decided":
        """Return the event of a decision."""
        return cls(
            node=decision.node,
            level=decision.level,
            targets=decision.targets if decision.level in REPLANS else (),
            rule=decision.rule,
            code=decision.code,
            wanted=decision.wanted,
            delay_seconds=decision.delay_seconds,
            classified=decision.classified,
            weighing=decision.weighing,
        )

    @property
    def step(self) -> str:
        """The step whose artifact was rejected."""
        return step_of(self.node)

    @property
    def decision(self) -> Decision:
        """The decision; what is no replan is about the failed step itself, unless it gives up."""
        own = () if self.level is BacktrackLevel.GIVE_UP else (self.step,)
        return Decision(
            step=self.step,
            node=self.node,
            level=self.level,
            targets=self.targets if self.level in REPLANS else own,
            rule=self.rule,
            code=self.code,
            wanted=self.wanted,
            delay_seconds=self.delay_seconds,
            classified=self.classified,
            weighing=self.weighing,
        )
