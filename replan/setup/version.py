"""The version of this installation."""


def release() -> str:
    """Return the version; a text that says so for a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `--help` is quick without it

    try:
        return version("replan")
    except PackageNotFoundError:
        return "of a checkout that is not installed"
