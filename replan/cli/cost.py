"""Prints what a run can cost before it starts (`replan.runs.worst_case`)."""

from typing import Any

from actors.planning.config import RunConfig
from actors.planning.prepare import RunRequest
from actors.values.lines import columns, line
from replan.cli.terminal.console import print_json, show
from replan.runs.worst_case import cost_of, cost_of_run, cost_texts


def print_dry_run(request: RunRequest, *, as_json: bool) -> None:
    """Print what the run can cost."""
    _print(cost_of_run(request), as_json=as_json)


def print_cost_of(pinned: RunConfig, *, as_json: bool) -> None:
    """Print what a run of the configuration can cost, whatever the problem."""
    _print(cost_of(pinned), as_json=as_json)


def _print(cost: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(cost)
        return
    show(columns(f"{name:<8}", line(text), hang=10) for name, text in _rows(cost))


def _rows(cost: dict[str, Any]) -> list[tuple[str, str]]:
    texts = cost_texts(cost)
    return [
        ("workflow", f"{cost['workflow']} ({', '.join(cost['steps'])})"),
        ("search", _search(cost)),
        ("model", _models(cost)),
        ("at best", texts["best"]),
        ("at worst", texts["worst"]),
        ("money", texts["money"]),
    ]


def _models(cost: dict[str, Any]) -> str:
    own = (f"{model} for {step}" for step, model in cost.get("step_models", {}).items())
    return ", ".join((str(cost["model"]), *own))


def _search(cost: dict[str, Any]) -> str:
    name = str(cost["search"]).replace("_", "-")
    return name if cost["branches_max"] == 1 else f"{name}, {cost['branches_max']} branches at most"
