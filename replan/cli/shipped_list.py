"""The list of what is shipped of one sort, such as workflows: names and descriptions."""

from collections.abc import Mapping

from actors.values.lines import Line, StyledSpan, columns, line
from replan.cli.terminal.console import print_json, show


def print_shipped(sort: str, descriptions: Mapping[str, str], *, as_json: bool) -> None:
    """Print what is shipped, a line each; in JSON one object, whose only key is `sort`."""
    if as_json:
        print_json({sort: [{"name": name, "description": text} for name, text in descriptions.items()]})
        return
    width = max(map(len, descriptions))
    for name, text in descriptions.items():
        show([columns(Line((StyledSpan(f"{name:<{width}}", "bold"),)), line(text), hang=width + 2)])
