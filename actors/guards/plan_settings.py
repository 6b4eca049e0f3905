"""What all three plan guards share: their settings, and how findings become a verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from actors.values.findings import Finding, Verdict
from runtime.core.errors import UsageProblem

GUARD_CATALOG = frozenset(
    (
        "syntax",
        "import",
        "human",
        "dynamic_test",
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
"""The guard names that a plan's steps may use, unless a workflow says otherwise."""

ASSURANCES = ("none", "weak", "strong_cyclic", "strong")
"""From the weakest to the strongest (Cimatti et al., 2003)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A plan guard's `guard_config`.

    `r_max` bounds `total_retry_budget`; `assurance` is the weakest assurance that passes; `max_explorations` bounds the
    configurations that an exploration visits.
    """

    guard_catalog: frozenset[str] = GUARD_CATALOG
    r_max: int = 100
    assurance: str = "strong_cyclic"
    max_explorations: int = 100_000


def settings(config: Mapping[str, Any]) -> Settings:
    """Return the settings; a missing key has its default.

    `guard_catalog` is a list of names added to the default ones, or `{"only": [names]}` to replace them.

    Raises:
        UsageProblem: on an unknown key or a value of the wrong kind.
    """
    known = Settings.__dataclass_fields__
    for key in config:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise UsageProblem(f"unknown setting {key!r}", place="guard_config", hint=hint)
    assurance = config.get("assurance", Settings().assurance)
    if assurance not in ASSURANCES:
        raise UsageProblem(
            f"{assurance!r} is not an assurance", place="guard_config.assurance", hint=f"one of {', '.join(ASSURANCES)}"
        )
    return Settings(
        guard_catalog=_catalog(config.get("guard_catalog", ())),
        r_max=_count(config, "r_max", Settings().r_max),
        assurance=assurance,
        max_explorations=_count(config, "max_explorations", Settings().max_explorations),
    )


def _catalog(value: Any) -> frozenset[str]:
    """Return the guard names that a setting means."""
    replaces = isinstance(value, Mapping) and set(value) == {"only"}
    names = value["only"] if replaces else value
    if not isinstance(names, list | tuple | set | frozenset) or not all(isinstance(name, str) for name in names):
        raise UsageProblem(
            "must be a list of guard names",
            place="guard_config.guard_catalog",
            hint="a list adds to the default names, {only: [...]} replaces them",
        )
    return frozenset(names) if replaces else GUARD_CATALOG | frozenset(names)


def _count(config: Mapping[str, Any], key: str, default: int) -> int:
    """Return a whole number of at least 1."""
    value = config.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageProblem(f"must be a whole number of at least 1, not {value!r}", place=f"guard_config.{key}")
    return value


def by_place(findings: Iterable[Finding], places: Mapping[str, int]) -> list[Finding]:
    """Return the findings with errors first, then by the step's place in the plan, so that no listing order shows."""
    last = len(places)
    return sorted(
        findings, key=lambda one: (one.severity, places.get(one.where, last), one.where, one.code, one.message)
    )


def verdict(guard: str, findings: Sequence[Finding], score: float, facts: Mapping[str, Any]) -> Verdict:
    """Return the verdict: passed iff no finding is an error; then the score is 1, and below 1 otherwise."""
    passed = not any(one.severity == "error" for one in findings)
    return Verdict(
        guard=guard,
        passed=passed,
        score=1.0 if passed else min(score, 0.99),
        findings=tuple(findings),
        facts={"level": guard.removeprefix("plan_"), **facts},
    )
