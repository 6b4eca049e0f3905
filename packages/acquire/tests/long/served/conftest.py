"""The fixtures of the server's tests of pages. Without the server's package, nothing here is collected."""

from importlib.util import find_spec

if find_spec("replan_server") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from packages.server.tests.long.web.conftest import (  # noqa: F401 -- fixtures
        browser,
        browser_process,
        home,
        second_browser,
        second_browser_process,
    )
