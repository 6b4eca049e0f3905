"""How an extra of this distribution is installed, from where the distribution came."""


def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, from where it was installed.

    A folder or an archive is named as such: on an index, the name `replan` may belong to somebody else.
    """
    import json  # noqa: PLC0415 - most commands need no hint
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415
    from urllib.parse import unquote, urlsplit  # noqa: PLC0415

    try:
        url = str(json.loads(distribution("replan").read_text("direct_url.json") or "{}").get("url", ""))
    except (PackageNotFoundError, ValueError, AttributeError):
        url = ""
    source = unquote(urlsplit(url).path) if url.startswith("file:") else url
    requirement = f"{source}[{extra}]" if not url or url.startswith("file:") else f"replan[{extra}] @ {url}"
    return f"pip install '{requirement if source else f'replan[{extra}]'}'"
