"""Makes the command that starts runs of an installed kind. The kind's `KindInterface` describes the command."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click
from pydantic import BaseModel, ValidationError

from actors.run.limits import split_limits
from replan.cli.home import registry_of
from replan.cli.options import Invocation, LongCommand
from replan.cli.planning_options import model_to_use
from replan.cli.run_options import (
    detach_option,
    driving_options,
    limit_options,
    model_option,
    name_options,
    parse_assignments,
    placement_options,
)
from replan.cli.starting import start_run
from replan.cli.terminal.console import notice
from replan.runs.kind_interface import KindInterface, KindOrder
from replan.runs.prepare import RunOrder, prepare
from runtime.core.errors import UsageProblem
from runtime.core.pydantic_messages import describe


def kind_command(interface: KindInterface) -> click.Command:
    """Return the command `replan KIND`.

    The distribution must name the command in its entry points of the group `replan.commands`.

    A required field of the order becomes an argument, and any other field an option. The option for a mapping accepts
    `NAME=VALUE` and may be repeated. The command also has the options for the model, for the limits and for driving a
    run.
    """

    def call(invocation: Invocation, /, *, model: str | None, detach: bool, **values: Any) -> int:
        import trio

        fields = {name: values.pop(name) for name in interface.order.model_fields}
        chosen = model_to_use(invocation, model, [interface.kind], templates=False)
        order = KindOrder(fields=_order_of(interface.order, fields), limits=split_limits(values))
        with name_options():
            wanted = RunOrder(order, chosen, interface.kind)
            prepared = prepare(wanted, registry=registry_of(invocation), environment=os.environ)
        for item in prepared.notices:
            notice(item)
        return trio.run(partial(start_run, invocation, prepared, detach=detach))

    function: Callable[..., Any] = click.pass_obj(call)
    for add in (driving_options, placement_options, detach_option, limit_options, model_option):
        function = add(function)
    brief = " ".join(
        (*interface.order.model_fields, "model max_calls max_cost deadline detach no_input quiet full json")
    )
    more = {"brief": brief, "help": interface.summary, "short_help": interface.summary}
    command = click.command(interface.kind, cls=LongCommand, **more)(function)
    command.params[:0] = [_parameter(interface.order, name) for name in interface.order.model_fields]
    return command


def _parameter(order: type[BaseModel], name: str) -> click.Parameter:
    field, schema = order.model_fields[name], order.model_json_schema()["properties"][name]
    if field.is_required():
        return click.Argument([name])
    words, text = [f"--{name.replace('_', '-')}", name], field.description
    match schema.get("type"):
        case "boolean":
            return click.Option(words, is_flag=True, default=None, help=text)
        case "object":
            return click.Option(words, multiple=True, metavar="NAME=VALUE", help=text)
        case _:
            return click.Option(words, metavar="VALUE", help=text)


def _order_of(order: type[BaseModel], values: Mapping[str, Any]) -> BaseModel:
    given = {name: value for name, value in values.items() if value not in (None, ())}
    sent = {name: parse_assignments(value) if isinstance(value, tuple) else value for name, value in given.items()}
    try:
        return order.model_validate(sent)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageProblem(describe(first), place=_place(order, first["loc"])) from None


def _place(order: type[BaseModel], location: tuple[int | str, ...]) -> str:
    """Return the argument or the option of the field at a location; empty if the location is empty."""
    if not location:
        return ""
    name = str(location[0])
    return name.upper() if order.model_fields[name].is_required() else f"--{name.replace('_', '-')}"
