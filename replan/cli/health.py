"""The health endpoints of a command that drives runs, on a port of their own (`--health-port`)."""

from importlib.util import find_spec

import trio

from replan.runs.engine import Engine
from runtime.core.errors import UsageProblem
from runtime.core.extras import install_command
from runtime.drive.options import Stop
from runtime.host.notices import Report


def start_health(
    engine: Engine, stop: Stop, report: Report, port: int | None, nursery: trio.Nursery, *, serving: bool = False
) -> Report:
    """Serve the health endpoints in a nursery, if there is a port for them; return the report that tells them more.

    With `serving`, no host has to begin first.

    Raises `UsageProblem` for a port that cannot be used, or where the extra `web` is missing.
    """
    if port is None:
        return report
    if find_spec("starlette") is None or find_spec("hypercorn") is None:
        hint = install_command("web")
        raise UsageProblem("the health endpoints need the extra `web`", place="--health-port", hint=hint)
    from replan.web.health import Health, serve_health
    from replan.web.server import bind_socket

    health = Health(engine.journal, stop.requested.is_set, serving)
    nursery.start_soon(serve_health, health, bind_socket(port, option="--health-port"), trio.sleep_forever)
    return health.hearing(report)
