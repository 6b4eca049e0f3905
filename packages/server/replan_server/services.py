"""The services that run beside the runs of a process: webhooks, health checks, and the export of telemetry.

Some imports are inside functions, because every host and `replan doctor` import this module.
"""
# ruff: noqa: PLC0415

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import trio

from replan.runs.services import Process, ServicePlugin
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config, settings_of
from replan_server.settings import ServerSettings
from replan_server.webhooks.messages import Webhook
from replan_server.webhooks.sender import SENDER_PLUGINS, Sender, by_plugin, by_webhook
from runtime.core.errors import UsageProblem


@asynccontextmanager
async def _send(process: Process) -> AsyncIterator[None]:
    engine, settings = process.engine, settings_of(process.engine.config, ServerSettings)
    channels = [
        (Webhook(name, entry, settings.answering), by_webhook(entry)) for name, entry in settings.webhooks.items()
    ]
    for name, entry in settings.senders.items():
        try:
            channels.append((Webhook(name, entry), by_plugin(name, entry)))
        except UsageProblem as problem:
            process.warn(f"{problem}; this sender sends nothing")
    async with trio.open_nursery() as nursery:
        for webhook, channel in channels:
            await nursery.start(Sender(engine.journal, webhook, engine.environment, channel).run)
        yield
        nursery.cancel_scope.cancel()


def _describe_webhooks(environment: Mapping[str, str]) -> str:
    """Return the names of the webhooks and senders. Settings are left out, because they may contain tokens."""
    settings = settings_of(read_user_config(locate_home(environment).config), ServerSettings)
    for name, entry in settings.senders.items():
        by_plugin(name, entry)
    return ", ".join((*settings.webhooks, *(f"the sender {name}" for name in settings.senders))) or "none"


@asynccontextmanager
async def _answer_health_checks(process: Process) -> AsyncIterator[None]:
    """Answer health checks on a host's health port, if it has one. Raises `UsageProblem` if the port cannot be used."""
    if process.health_port is None or process.stop is None:
        yield
        return
    from replan_server.web.health import Health, serve_health
    from replan_server.web.server import bind_socket

    health = Health(process.engine.journal, process.stop.requested.is_set)
    process.report = health.report_to(process.report)
    listening = bind_socket(process.health_port, option="--health-port")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve_health, health, listening, trio.sleep_forever)
        yield
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def _export(process: Process) -> AsyncIterator[None]:
    """Export the records of the journal to OpenTelemetry if environment variables turn the export on."""
    from replan_server.telemetry.running import run_exporter

    async with run_exporter(process.engine, process.warn):
        yield


def _describe_telemetry(environment: Mapping[str, str]) -> str:
    """Return in words which data are exported. Raises `UsageProblem` for invalid settings."""
    from replan_server.telemetry.running import how_to_install, is_installed
    from replan_server.telemetry.settings import telemetry_settings

    settings = telemetry_settings(environment)
    if settings.problems:
        raise UsageProblem("; ".join(settings.problems))
    if settings.wanted and not is_installed():
        raise UsageProblem("OpenTelemetry is configured, but its packages are not installed", hint=how_to_install())
    names = [name for name, on in (("traces", settings.traces), ("metrics", settings.metrics)) if on]
    content = " with prompts and replies" if settings.traces and settings.content else ""
    return (" and ".join(names) or "off") + content


WEBHOOKS = ServicePlugin(_send, in_hosts=True, describe=_describe_webhooks, plugins=(SENDER_PLUGINS,))
HEALTH = ServicePlugin(_answer_health_checks, in_hosts=True)
TELEMETRY = ServicePlugin(_export, in_hosts=False, describe=_describe_telemetry)
