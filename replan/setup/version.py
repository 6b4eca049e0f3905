"""Which release this is."""


def release() -> str:
    """Return the version, or that there is none: a checkout need not be installed."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - `--help` is quick without it

    try:
        return version("replan")
    except PackageNotFoundError:
        return "of a checkout that is not installed"
