"""What the planner wants next: the decision that gates make, rewrite and route, and the reply of a model for one."""

from typing import Literal

from runtime.core.events import Value

Action = Literal["search", "ask_user", "reflect", "calculate", "finish"]
"""What a decision may ask for; each is a node of the graph."""
Origin = Literal["deterministic", "llm", "llm_error"]
"""Who decided: a gate, a model, or a gate in place of a model whose reply could not be used."""
Status = Literal["active", "aborted"]
"""Whether the run may still acquire values; `aborted` once a required one cannot be had."""


class PlannerDecision(Value):
    """What is to be done next, and about which field."""

    action: Action
    """The node that carries it out."""
    target_field: str = ""
    """The path of the field; empty where the action is about none."""
    query: str = ""
    """The query of a search; empty makes one of the field's words."""
    question: str = ""
    """The question to the user; empty takes the field's own."""
    reasoning: str = ""
    """Why, in one sentence for people; nothing is decided by it."""
