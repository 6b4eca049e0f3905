"""The version of this installation, and the folder of its data, in a checkout or in a wheel."""

from importlib.resources import files
from pathlib import Path


def release() -> str:
    """Return the version; a text that says so for a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `--help` is quick without it

    try:
        return version("replan")
    except PackageNotFoundError:
        return "of a checkout that is not installed"


__all__ = ["data_root"]


def data_root() -> Path:
    """Return the folder that holds `prompts/` and `configs/`.

    A wheel carries both as `replan/_data`; in a checkout they are beside the package. The package must be
    installed as files, as pip and uv install it.
    """
    package = Path(str(files("replan")))
    bundled = package / "_data"
    return bundled if bundled.is_dir() else package.parent
