"""The fields of analysis, recon, strategy and critique: their allowed values, and JSON Schemas for model requests.

The schemas use only what every server's strict structured output supports: all properties are required, and no others
are allowed.
"""

from collections.abc import Collection
from typing import Any

from actors.plans.schema import REQUIREMENT
from actors.values.open_questions import QUESTIONS_SCHEMA

PROBLEM_TYPES = ("bug_fix", "feature", "refactoring", "performance", "decision")
SEVERITIES = ("low", "medium", "high")
STRATEGIES = (
    "S1_locate_and_fix",
    "S2_tdd_feature",
    "S3_refactor_safely",
    "S4_profile_and_optimize",
    "S5_investigate_first",
    "S6_compare_and_decide",
)
ASSESSMENTS = ("good", "needs_revision", "fundamentally_flawed")
RECON_LISTS = (
    "mentioned_files",
    "stack_traces",
    "apis_involved",
    "test_references",
    "reproduction_steps",
    "constraints_mentioned",
)
CRITIQUE_LISTS = (
    "missing_steps",
    "unnecessary_steps",
    "ordering_issues",
    "guard_appropriateness",
    "specific_suggestions",
)

_TEXT: dict[str, Any] = {"type": "string"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}


def _choice(values: Collection[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return _closed({**properties, "open_questions": QUESTIONS_SCHEMA})


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": _closed(properties)}


def analysis_schema(languages: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an analysis; `languages` are the allowed languages, all if empty."""
    return _object(
        {
            "problem_type": _choice(PROBLEM_TYPES),
            "language": _choice(languages) if languages else _TEXT,
            "severity": _choice(SEVERITIES),
            "key_signals": _TEXTS,
            "affected_area": _TEXT,
            "rationale": _TEXT,
        }
    )


def strategy_schema(strategies: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of a strategy; `strategies` are ids that are valid besides the built-in ones."""
    return _object(
        {
            "strategy_id": _choice((*STRATEGIES, *strategies)),
            "strategy_name": _TEXT,
            "rationale": _TEXT,
            "for_type": _choice(PROBLEM_TYPES),
            "key_steps": _list_of({"id": _TEXT, "text": _TEXT}),
            "expected_guards": _TEXTS,
            "risk_factors": _TEXTS,
            "evidence": _TEXTS,
        }
    )


ANALYSIS_SCHEMA = analysis_schema()
RECON_SCHEMA = _object(
    {
        **dict.fromkeys(RECON_LISTS, _TEXTS),
        "requirements": _list_of(
            {
                **REQUIREMENT,
                "conflicts_with": _TEXTS,
                "limit": _closed({"name": _TEXT, "value": _TEXT}),
                "readings": _TEXTS,
            }
        ),
    }
)
STRATEGY_SCHEMA = strategy_schema()
CRITIQUE_SCHEMA = _object(
    {
        "overall_assessment": _choice(ASSESSMENTS),
        "problem_type_match": _TEXT,
        **dict.fromkeys(CRITIQUE_LISTS, _TEXTS),
    }
)
