"""The folder of the shipped data, `prompts/` and `configs/`, in a checkout and in an installed wheel."""

from importlib.resources import files
from pathlib import Path

__all__ = ["data_root"]


def data_root() -> Path:
    """Return the folder that holds `prompts/` and `configs/`.

    A wheel carries both as `replan/_data`; in a checkout they are beside the package. The package must be
    installed as files, as pip and uv install it.
    """
    package = Path(str(files("replan")))
    bundled = package / "_data"
    return bundled if bundled.is_dir() else package.parent
