"""Writes the JSON Schema of profiles to a folder, with `python -m replan_acquire.schemas FOLDER`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel

from replan.setup.config_schemas import write_schemas
from replan_acquire.acquisition.profile import Profile

SCHEMAS: Mapping[str, type[BaseModel]] = {"acquisition": Profile}

if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]), SCHEMAS)
