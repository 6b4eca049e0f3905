"""Writes the JSON Schemas with which editors complete workflow, prompts, policy, profile, tools and config files.

`python -m replan.setup.config_schemas FOLDER` writes them; a test compares them with the committed ones.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import orjson
from pydantic import BaseModel

from actors.acquisition.profile import Profile as AcquisitionProfile
from actors.config.workflow import Workflow
from actors.files.validation_errors import describe_models
from actors.policy.table import Policy
from actors.prompting.prompts_file import PromptsFile
from actors.simulated.profile import AuthorProfile
from actors.tools.tools_file import ToolsFile
from replan.setup.settings import UserConfig

SCHEMAS: Mapping[str, type[BaseModel]] = {
    "acquisition": AcquisitionProfile,
    "config": UserConfig,
    "policy": Policy,
    "profile": AuthorProfile,
    "prompts": PromptsFile,
    "tools": ToolsFile,
    "workflow": Workflow,
}
"""The models by the name of their schema file."""

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text(model: type[BaseModel]) -> str:
    """Return the text of a schema file: the JSON Schema of a model."""
    describe_models()
    schema = {"$schema": _DIALECT, **model.model_json_schema()}
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def write_schemas(folder: Path, models: Mapping[str, type[BaseModel]] = SCHEMAS) -> None:
    """Write `NAME.schema.json` for every model into a folder."""
    for name, model in models.items():
        (folder / f"{name}.schema.json").write_text(schema_text(model), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
