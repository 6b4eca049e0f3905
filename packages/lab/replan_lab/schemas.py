"""Writes the JSON Schemas of experiments, their results and profiles: `python -m replan_lab.schemas FOLDER`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from replan.setup.config_schemas import write_schemas
from replan_lab.experiments.definition import ExecutionExperiment, Experiment
from replan_lab.experiments.results import ExecutionTrial, Trial
from replan_lab.simulated.profile import AuthorProfile

SCHEMAS: Mapping[str, type[BaseModel]] = {
    "execution_experiment": ExecutionExperiment,
    "execution_trial": ExecutionTrial,
    "experiment": Experiment,
    "profile": AuthorProfile,
    "trial": Trial,
}

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]), SCHEMAS)
