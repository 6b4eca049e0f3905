"""The JSON Schema of experiment files, for editors: `python -m replan.experiments.schemas FOLDER` writes it."""

import sys
from pathlib import Path

from actors.config.schemas import write_schemas
from replan.experiments.definition import Experiment

SCHEMAS = {"experiment": Experiment}
"""The models by the name of their schema file."""

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]), SCHEMAS)
