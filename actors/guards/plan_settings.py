"""Code that the three plan guards share: their settings, the order of their findings, and their verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.files.suggestions import near
from actors.values.findings import Finding, Verdict, limit_findings
from runtime.core.errors import UsageProblem

GUARD_CATALOG = frozenset(
    (
        "syntax",
        "import",
        "human",
        "dynamic_test",
        "test_fails",
        "composite",
        "config_extracted",
        "architecture_tests_valid",
        "scenarios_valid",
        "rules_valid",
        "all_tests_pass",
        "quality_gates",
        "arch_validation",
        "merge_ready",
        "composite_validation",
        "plan_minimal",
        "plan_medium",
        "plan_expansive",
    )
)
"""The names that steps of a plan may use in `guard`. A workflow may add names or replace these names."""

WORKFLOW_SETTINGS = frozenset(("r_max", "guard_catalog"))
"""The settings that every plan guard inherits from the workflow."""

ASSURANCES = ("none", "weak", "strong_cyclic", "strong")
"""The assurances that a plan may have, from the weakest to the strongest (Cimatti et al. 2003)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The `guard_config` of a plan guard."""

    guard_catalog: frozenset[str] = GUARD_CATALOG
    r_max: int = 100
    """The largest `total_retry_budget` that a plan may have."""
    assurance: str = "strong_cyclic"
    """The weakest assurance that a plan may have, one of `ASSURANCES`."""
    max_explorations: int = 100_000
    """The largest number of configurations that an exploration visits. A value above the default also raises the limit
    on an exploration's work.
    """


def read_settings(config: Mapping[str, Any]) -> Settings:
    """Return the settings in a `guard_config`. If a key is missing, the setting has its default.

    `guard_catalog` is a list of names, which are added to the default names. The form `{"only": [names]}` replaces the
    default names.

    Raises:
        UsageProblem: a key is unknown, or a value is invalid.
    """
    known = Settings.__dataclass_fields__
    for key in config:
        if key not in known:
            hint = near(str(key), known) or f"known: {', '.join(known)}"
            raise UsageProblem(f"unknown setting {key!r}", place="guard_config", hint=hint)
    assurance = config.get("assurance", Settings().assurance)
    if assurance not in ASSURANCES:
        raise UsageProblem(
            f"{assurance!r} is not an assurance", place="guard_config.assurance", hint=f"use {' or '.join(ASSURANCES)}"
        )
    return Settings(
        guard_catalog=_catalog(config.get("guard_catalog", ())),
        r_max=_count(config, "r_max", Settings().r_max),
        assurance=assurance,
        max_explorations=_count(config, "max_explorations", Settings().max_explorations),
    )


def _catalog(value: Any) -> frozenset[str]:
    replaces = isinstance(value, Mapping) and set(value) == {"only"}
    names = value["only"] if replaces else value
    if not isinstance(names, list | tuple | set | frozenset) or not all(isinstance(name, str) for name in names):
        raise UsageProblem(
            "guard_catalog must be a list of guard names",
            place="guard_config.guard_catalog",
            hint="a list adds guards to the default guards, and {only: [...]} replaces the default guards",
        )
    return frozenset(names) if replaces else GUARD_CATALOG | frozenset(names)


def _count(config: Mapping[str, Any], key: str, default: int) -> int:
    """Return the setting `key`, an integer of at least 1; `default` if the setting is missing."""
    value = config.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageProblem(f"must be a whole number of at least 1, not {value!r}", place=f"guard_config.{key}")
    return value


def sort_findings(findings: Iterable[Finding], index: Mapping[str, int]) -> list[Finding]:
    """Return the findings sorted: errors first, then by the position of their step in `index`, a topological order.

    So the result does not depend on the order in which the plan lists its steps.
    """
    last = len(index)
    return sorted(
        findings,
        key=lambda finding: (
            finding.severity,
            index.get(finding.where, last),
            finding.where,
            finding.code,
            finding.message,
        ),
    )


def plan_verdict(guard: str, findings: Sequence[Finding], score: float, facts: Mapping[str, Any]) -> Verdict:
    """Return the verdict: passed with score 1 if no finding is an error; otherwise rejected with a score below 1."""
    passed = not any(finding.severity == "error" for finding in findings)
    return Verdict(
        guard=guard,
        passed=passed,
        score=1.0 if passed else min(score, 0.99),
        findings=tuple(limit_findings(findings)),
        facts={"level": guard.removeprefix("plan_"), **facts},
    )
