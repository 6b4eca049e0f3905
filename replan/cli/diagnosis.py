"""The checks of the command `doctor`: versions, the home with its settings and its journal, services, and the terminal.

Also checks the model, its key and its server.
"""

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import apsw
import trio

from actors.config.loader import shipped_workflows
from actors.config.model_spec import MODEL_PLUGINS, Named
from actors.config.step_guards import BUILT_IN
from actors.files.suggestions import nearest
from actors.tools.specs import McpSpec
from actors.tools.tools_file import TOOL_PLUGINS
from actors.values.answers import ANSWER_FORMATS
from actors.values.format import format_count, money
from actors.values.lines import Line, StyledSpan, line
from replan.cli.command_table import COMMAND_PLUGINS
from replan.cli.exits import Exit
from replan.cli.home import registry_of
from replan.cli.options import Invocation
from replan.cli.terminal.console import plain_terminal, print_json, show
from replan.runs.kind_interface import installed_interfaces, interface_problems
from replan.runs.models import check_model, open_named
from replan.runs.services import SERVICES, usable_services
from replan.runs.token_goals import TOOLS_FILE
from replan.setup.home_folder import USE_ANOTHER_HOME, database_place, database_url, locate_home, prepare_home
from replan.setup.installation import data_root, program, release
from replan.setup.kinds import Kinds
from replan.setup.model_discovery import choices_text, find_models
from replan.setup.plugins import GENERATOR_PLUGINS, GUARD_PLUGINS
from replan.setup.settings import SETTINGS, HomeBudgetEntry, NoModel, choose_model, read_user_config
from runtime.core.clock import SystemClock
from runtime.core.errors import ReplanError, UsageProblem
from runtime.core.extras import install_command
from runtime.core.ledger import MICRO, ZERO, Amount
from runtime.journal.port import VERSION, HostRow, Journal, RunFilter
from runtime.models.providers import ANTHROPIC_VERSION, PROVIDERS, check_base_url
from runtime.models.refusals import WITHOUT
from runtime.models.servers import Servers
from runtime.open_journal import JOURNALS, open_journal
from runtime.process.identity import is_dead

PLUGIN_GROUPS = (ANSWER_FORMATS, COMMAND_PLUGINS, SETTINGS, SERVICES, MODEL_PLUGINS, JOURNALS, TOOL_PLUGINS)
"""The groups of plug-ins that `doctor` examines, except for guards, generators and kinds. An installed kind or service
may define further groups."""
REACH_SECONDS = 5.0
"""The longest time, in seconds, that `replan doctor --online` waits for the model's server."""


def _describe_model(environment: Mapping[str, str], model: str | None) -> str:
    config = locate_home(environment).config
    try:
        choice = choose_model(model, environment, read_user_config(config))
    except NoModel:
        return f"no model is named; `{program()} run` accepts {choices_text(find_models(environment))}"
    check_model(choice.spec, environment)
    if model is not None:
        return f"{choice.text} (--model)"
    if environment.get("REPLAN_MODEL"):
        return f"{choice.text} (REPLAN_MODEL)"
    return f"{choice.text} ({config})"


def _describe_key(environment: Mapping[str, str], model: str | None) -> str:
    variable = PROVIDERS[_needed_model(environment, model).provider].key
    key = environment.get(variable, "")
    if not key:
        return f"{variable} is not set"
    return f"{variable} is set (********, {len(key)} characters)"


def _describe_server(environment: Mapping[str, str], model: str | None, *, online: bool) -> str:
    """Return the address of the model's server. With `online`, the text also has the server's answer.

    Raises `UsageProblem` for a wrong address, and the errors of `_probe`.
    """
    chosen = _needed_model(environment, model)
    provider = PROVIDERS[chosen.provider]
    configured = environment.get(provider.address)
    url = provider.url_in(environment)
    if configured:
        url = check_base_url(url, place=provider.address)
    if not url:
        return f"none: {provider.region or provider.address} is not set"
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"
    source = provider.address if configured else "the default"
    if provider.interface_of(chosen.name, environment) == "responses":
        source += ", by the Responses API"
    if not online:
        return f"{place} ({source}; --online tries to reach it)"
    return f"{place} ({source}) {_probe(chosen, environment, url)}"


def _needed_model(environment: Mapping[str, str], model: str | None) -> Named:
    """Return the chosen model if it needs a server. If it needs no server, return a model with an empty name."""
    try:
        spec = choose_model(model, environment, read_user_config(locate_home(environment).config)).spec
    except ReplanError:  # `_describe_model` raises the same error, so it is shown there.
        return Named("")
    return spec if isinstance(spec, Named) else Named("")


def _probe(chosen: Named, environment: Mapping[str, str], url: str) -> str:
    """Request the list of models from the server of the chosen model, which costs nothing.

    Return a text about the server's answer.

    Raises `OSError` if the server cannot be reached, refuses the key, or does not list the model.
    """
    import httpx2

    from runtime.models.completion import read_model_list

    model, key = chosen.name, environment.get(PROVIDERS[chosen.provider].key, "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    path = "/models"
    if PROVIDERS[chosen.provider].interface == "messages":
        url = url.removesuffix("/v1")
        path, headers = "/v1/models?limit=1000", {**headers, "anthropic-version": ANTHROPIC_VERSION}
    try:
        response = httpx2.get(f"{url}{path}", headers=headers, timeout=REACH_SECONDS)
    except httpx2.HTTPError as error:
        raise OSError(f"{url} cannot be reached: {type(error).__name__}: {error}") from None
    status = response.status_code
    if status in (401, 403):
        raise OSError(f"{url} refuses the key (status {status})")
    answers = "answers, and accepts the key" if status == 200 and key else f"answers (status {status})"
    listed = read_model_list(response.content) if status == 200 and model else frozenset[str]()
    if not model or not listed:
        return answers
    if model not in listed and f"{model}:latest" not in listed:
        raise OSError(
            f"{url} {answers}, but does not list the model {model!r} ({nearest(model, listed, kind='it has')})"
        )
    window = trio.run(_describe_window, chosen, environment)
    return f"{answers}; it has the model {model!r}" + (f", with {window}" if window else "")


async def _describe_window(chosen: Named, environment: Mapping[str, str]) -> str:
    async with open_named(chosen, environment, SystemClock()) as opened:
        window = await opened.context_window()
    return "" if window is None else f"a context window of {window.tokens:,} tokens ({window.source})"


_NEEDS = {
    "plug-ins": {"config"},
    "budget": {"config", "journal"},
    "tenants": {"config", "journal"},
    "hosts": {"journal"},
    "model": {"config"},
}
"""A mapping from the name of a check to the names of the checks that must succeed before it. If one of them fails, the
check is not made."""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """The name and the result of one check of `doctor`."""

    name: str
    result: str
    ok: bool = True


def examine(*, online: bool, model: str | None, as_json: bool) -> int:
    """Make all checks and print the results. Return 0 if nothing is wrong, else 1."""
    checks = list(_checks(os.environ, model, online=online))
    ok = all(check.ok for check in checks)
    if as_json:
        rows = [{"name": check.name, "found": check.result, "ok": check.ok} for check in checks]
        print_json({"ok": ok, "checks": rows})
    else:
        show(map(_line, checks))
    return Exit.OK if ok else Exit.INTERNAL


def _line(check: DoctorCheck) -> Line:
    mark = StyledSpan("ok", "green") if check.ok else StyledSpan("WRONG", "bold red")
    name = StyledSpan(f"{' ' * (5 - len(mark.text))}  {check.name:<10}")
    return Line((mark, name, *line(check.result).spans), hang=len(mark.text) + len(name.text))


def _checks(environment: Mapping[str, str], model: str | None, *, online: bool) -> Iterator[DoctorCheck]:
    checks: list[tuple[str, Callable[[], str]]] = [
        ("replan", _describe_version),
        ("python", lambda: f"{platform.python_version()} ({sys.executable})"),
        ("sqlite", lambda: f"{apsw.sqlite_lib_version()} (of apsw {apsw.apsw_version()})"),
        ("trio", lambda: version("trio")),
        ("openai", lambda: version("openai")),
        ("anthropic", _describe_anthropic),
        ("data", lambda: f"{data_root()}, {len(shipped_workflows(data_root()))} workflows"),
        ("home", lambda: _describe_home(environment)),
        ("config", lambda: _describe_config(environment)),
        ("plug-ins", _describe_plugins),
        ("tools", lambda: _describe_tools(environment)),
        ("isolation", lambda: _describe_isolation(environment)),
        ("journal", lambda: trio.run(_describe_journal, environment)),
        ("budget", lambda: trio.run(_describe_budget, environment)),
        ("tenants", lambda: trio.run(_describe_tenants, environment)),
        ("hosts", lambda: trio.run(_describe_hosts, environment)),
        *_checks_of_services(environment),
        ("model", lambda: _describe_model(environment, model)),
        ("key", lambda: _describe_key(environment, model)),
        ("server", lambda: _describe_server(environment, model, online=online)),
        ("refused", lambda: _describe_refused(environment)),
        ("limits", lambda: _describe_limits(environment)),
        ("terminal", lambda: _describe_terminal(environment)),
    ]
    failed: set[str] = set()
    for name, check in checks:
        if _NEEDS.get(name, {"config"} if name in SERVICES.names else set()) & failed:
            continue
        try:
            yield DoctorCheck(name, check())
        except (ReplanError, OSError, PackageNotFoundError) as error:
            failed.add(name)
            yield DoctorCheck(name, str(error), ok=False)


def _checks_of_services(environment: Mapping[str, str]) -> Iterator[tuple[str, Callable[[], str]]]:
    for name, service in usable_services().items():
        if service.describe is not None:
            yield name, partial(service.describe, environment)


def _describe_version() -> str:
    return f"{release()} ({data_root()})"


def _describe_plugins() -> str:
    plugins, own = registry_of(Invocation()), len(BUILT_IN)
    kinds, broken_kinds = Kinds().formats()
    of_kinds = [group for interface in installed_interfaces() for group in interface.plugins]
    groups = (
        *PLUGIN_GROUPS,
        *of_kinds,
        *(group for service in usable_services().values() for group in service.plugins),
    )
    broken = [line for group in (GUARD_PLUGINS, GENERATOR_PLUGINS, *groups) for line in group.problems()]
    if broken := [*broken, *broken_kinds, *interface_problems()]:
        raise UsageProblem("; ".join(broken))
    return "; ".join(
        [
            f"guards {own} built in, {len(plugins.guards) - own} plugged in",
            f"generators {len(plugins.generators)} plugged in",
            f"kinds of agents {', '.join(sorted(kinds))}",
            *(f"{group.name} {', '.join(sorted(group.installed))}" for group in groups if group.installed),
        ]
    )


def _describe_tools(environment: Mapping[str, str]) -> str:
    path = locate_home(environment).folder / TOOLS_FILE
    if not path.exists():
        return f"none ({path})"
    from actors.tools.loader import load_tools

    tools = load_tools(path, environment=environment).toolset.tools.values()
    servers = sorted({tool.server for tool in tools if isinstance(tool, McpSpec)})
    of_servers = f", with tools of the MCP servers {', '.join(servers)}" if servers else ""
    return f"{path}: {format_count(len(tools), 'tool')}{of_servers}"


def _describe_isolation(environment: Mapping[str, str]) -> str:
    from actors.tools.programs import NoIsolation, sandbox_words

    try:
        program, *_ = sandbox_words(environment)
    except NoIsolation as error:
        return f"none, so `wrap: [isolated]` is refused: {error}"
    return f"a PID and a network namespace for each call of a tool with `wrap: [isolated]` ({program})"


def _describe_home(environment: Mapping[str, str]) -> str:
    source = "REPLAN_HOME" if environment.get("REPLAN_HOME") else "the platform's data folder"
    if not locate_home(environment).folder.exists():
        return f"{locate_home(environment).folder} ({source}; the first run creates it)"
    return f"{prepare_home(environment).folder} ({source})"


def _describe_config(environment: Mapping[str, str]) -> str:
    path = locate_home(environment).config
    read_user_config(path)
    return str(path) if path.exists() else f"none ({path})"


def _open_existing_journal(environment: Mapping[str, str]) -> AbstractAsyncContextManager[Journal[Any] | None]:
    """Return a context that opens the journal in use and yields it. It yields None if the home has no journal."""
    url, path = database_url(environment), locate_home(environment).journal
    if url is None and not path.exists():
        return nullcontext()
    return open_journal(url or f"sqlite:{path}", Kinds().codecs, SystemClock(), use_another=USE_ANOTHER_HOME)


async def _describe_journal(environment: Mapping[str, str]) -> str:
    path = locate_home(environment).journal
    async with _open_existing_journal(environment) as journal:
        if journal is None:
            return f"no journal yet; this release writes version {VERSION}"
        runs, waiting = [(await journal.totals(RunFilter(status=status))).runs for status in (None, "waiting")]
    place, found = database_place(environment), f"version {VERSION}, {format_count(runs, 'run')}, {waiting} waiting"
    return f"{place}, {found}" if place else f"{found} ({path.stat().st_size:,} bytes)"


async def _describe_budget(environment: Mapping[str, str]) -> str:
    home = locate_home(environment)
    budget = read_user_config(home.config).home_budget
    async with _open_existing_journal(environment) as journal:
        spent = ZERO if journal is None else await journal.spent_today()
    return _budget_text(spent, budget, "no home_budget")


async def _describe_tenants(environment: Mapping[str, str]) -> str:
    tenants = read_user_config(locate_home(environment).config).tenants
    async with _open_existing_journal(environment) as journal:
        spent = {name: ZERO if journal is None else await journal.spent_today(name) for name in tenants}
    return "; ".join(f"{name}: {_budget_text(spent[name], tenants[name], 'no limit')}" for name in tenants) or "none"


def _budget_text(spent: Amount, budget: HomeBudgetEntry, unlimited: str) -> str:
    calls = format_count(spent.calls, "call") if budget.calls is None else f"{spent.calls:,} of {budget.calls:,} calls"
    usd = money(spent.micro_usd / MICRO) + ("" if budget.usd is None else f" of {money(budget.usd)}")
    remaining = [] if budget.calls is None else [f"{format_count(max(0, budget.calls - spent.calls), 'call')} left"]
    remaining += [] if budget.usd is None else [f"{money(max(0.0, budget.usd - spent.micro_usd / MICRO))} left"]
    return f"{calls} and {usd} committed today, UTC ({', '.join(remaining) or unlimited})"


async def _describe_hosts(environment: Mapping[str, str]) -> str:
    hosts = list[HostRow]()
    async with _open_existing_journal(environment) as journal:
        if journal is not None:
            hosts = await journal.hosts(dead=is_dead)
    if not hosts:
        return "none"
    kinds = sorted({kind for host in hosts for kind in host.kinds or ()})
    driven = f" ({', '.join(kinds)})" if kinds and all(host.kinds is not None for host in hosts) else ""
    return f"{format_count(len(hosts), 'host')} {'serves' if len(hosts) == 1 else 'serve'} this home{driven}"


def _describe_refused(environment: Mapping[str, str]) -> str:
    learned = Servers(locate_home(environment).servers).learned(SystemClock().now())
    rows = []
    for place, ways in learned.items():
        parts = [f"{name} ({'left out' if way == WITHOUT else f'{way} is sent'})" for name, way in ways.items()]
        rows.append(f"{place}: {', '.join(parts)}")
    return "; ".join(rows) or "no parameter was refused in the last day"


def _describe_limits(environment: Mapping[str, str]) -> str:
    now, rows = SystemClock().now(), []
    for key, limits in Servers(locate_home(environment).servers).limits().items():
        windows = [(what, window) for what, window in limits.windows.items() if now < window.resets_at]
        parts = [
            f"{max(0, window.remaining):,} of {window.limit:,} {what} left, reset in {window.resets_at - now:.0f} s"
            for what, window in windows
        ]
        parts += (
            [f"the server refuses all calls for {limits.held_until - now:.0f} s"] if now < limits.held_until else []
        )
        rows += [f"{key.partition(' ')[0]}: {', '.join(parts)}"] if parts else []
    return "; ".join(rows) or "no known rate limit applies now"


def _describe_anthropic() -> str:
    if find_spec("anthropic") is None:
        return f"not installed; anthropic:NAME needs it ({install_command('anthropic')})"
    return version("anthropic")


def _describe_terminal(environment: Mapping[str, str]) -> str:
    if plain_terminal(sys.stdout):
        return "plain text: not a terminal" if not sys.stdout.isatty() else "plain text: TERM is dumb"
    size = os.get_terminal_size(sys.stdout.fileno())
    colour = "no colour (NO_COLOR)" if environment.get("NO_COLOR") else "colour"
    return f"{environment.get('TERM', 'unknown')}, {size.columns} columns, {colour}"
