"""The plan, in one place to import from: its values, its reader, its JSON form and its JSON Schema."""

from actors.plans.reading import read_draft, read_plan
from actors.plans.schema import plan_schema
from actors.plans.values import CONTINUE, ESCALATE, NEVER, RESERVED_IDS, Invariant, Plan, Step, plan_to_json

__all__ = [
    "CONTINUE",
    "ESCALATE",
    "NEVER",
    "RESERVED_IDS",
    "Invariant",
    "Plan",
    "Step",
    "plan_schema",
    "plan_to_json",
    "read_draft",
    "read_plan",
]
