"""The JSON Schemas of experiment files and of results; `python -m replan.experiments.schemas FOLDER` writes them."""

import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from replan.experiments.definition import Experiment
from replan.experiments.execution_definition import ExecutionExperiment
from replan.experiments.execution_trials import ExecutionTrial
from replan.experiments.results import Trial
from replan.setup.config_schemas import write_schemas

SCHEMAS: Mapping[str, type[BaseModel]] = {
    "experiment": Experiment,
    "execution_experiment": ExecutionExperiment,
    "execution_trial": ExecutionTrial,
    "trial": Trial,
}
"""The models by the name of their schema file."""

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]), SCHEMAS)
