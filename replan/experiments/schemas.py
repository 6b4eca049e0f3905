"""The JSON Schemas of experiment files and of results; `python -m replan.experiments.schemas FOLDER` writes them."""

import sys
from pathlib import Path

from actors.config.schemas import write_schemas
from replan.experiments.definition import Experiment
from replan.experiments.results import Trial

SCHEMAS = {"experiment": Experiment, "trial": Trial}
"""The models by the name of their schema file."""

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]), SCHEMAS)
