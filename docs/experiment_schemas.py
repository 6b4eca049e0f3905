"""Writes the JSON Schemas of experiment files and of results: `python docs/experiment_schemas.py`."""
# ruff: noqa: INP001 -- a script, not a package

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from replan.experiments.definition import ExecutionExperiment, Experiment
from replan.experiments.results import ExecutionTrial, Trial
from replan.setup.config_schemas import write_schemas

SCHEMAS: Mapping[str, type[BaseModel]] = {
    "experiment": Experiment,
    "execution_experiment": ExecutionExperiment,
    "execution_trial": ExecutionTrial,
    "trial": Trial,
}
"""The models by the name of their schema file."""

if __name__ == "__main__":
    write_schemas(Path(__file__).parents[1] / "configs" / "schemas", SCHEMAS)
