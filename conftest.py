"""What holds for every test: no real model, no network, no files outside the test's own folder, nothing left running.

It also sets the Hypothesis profiles, and prints the seconds of each suite (a folder of tests) at the end of the output.
"""

import gc
import importlib
import os
import sys
import threading
import time
from collections import defaultdict
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from replan.setup import model_discovery
from replan.setup.installation import start_quickly
from runtime.models.providers import PROVIDERS
from tests.support.commands import joined, open_commands

start_quickly()  # Most objects of a worker stay to its end, and looking through them takes a tenth of its time.

# `test` and `check` find the same examples on every machine; `soak` looks for new ones.
for profile, examples in (("test", 10), ("check", int(os.environ.get("REPLAN_CHECK_EXAMPLES", "50")))):
    settings.register_profile(profile, max_examples=examples, derandomize=True, deadline=None, print_blob=True)
settings.register_profile(
    "soak",
    max_examples=int(os.environ.get("REPLAN_EXAMPLES", "2000")),
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("test")

# The tools of tests find the programs of this environment, as where it is activated.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

LOOPBACK = ("127.", "::1", "localhost", "0.0.0.0")
PROVIDERS_VARIABLES = ("AWS_", *(f"{name.upper()}_" for name in PROVIDERS))
FOREIGN = {"REPLAN_MODEL", "REPLAN_JOURNAL", "REPLAN_JOURNAL_DIRECT", "FORCE_COLOR"}
SECONDS: dict[str, float] = defaultdict(float)
COUNTS: dict[str, int] = defaultdict(int)


def _forbid_the_network(event, arguments):
    if event not in {"socket.connect", "socket.sendto"}:
        return
    address = arguments[1]
    if isinstance(address, tuple) and not str(address[0]).startswith(LOOPBACK):
        raise RuntimeError(f"tests may not connect to {address}: only to this machine")


# An audit hook sees every connection of the process, whichever library makes it.
sys.addaudithook(_forbid_the_network)


def _foreign(name):
    """Whether a variable of the developer's environment would change what the tests do."""
    return name.startswith(PROVIDERS_VARIABLES) or name.lower().endswith("_proxy") or name in FOREIGN


def _open_files():
    targets = {}
    for entry in Path("/dev/fd").iterdir():
        try:
            targets[entry.name] = str(entry.readlink())
        except OSError:
            continue  # The descriptor of this very listing.
    # matplotlib keeps the fonts that it has read open until the process ends.
    kept = ("/dev/", "/proc/")
    return {
        number: target
        for number, target in targets.items()
        if not target.startswith(kept) and "/mpl-data/fonts/" not in target
    }


def _children():
    """Return the command lines of the processes that this one has started and not buried, by number (on Linux)."""
    tasks = Path("/proc/self/task")
    lists = [task / "children" for task in tasks.iterdir()] if tasks.exists() else []
    numbers = {number for file in lists if file.exists() for number in file.read_text().split()}
    return {number: Path("/proc", number, "cmdline").read_bytes().replace(b"\0", b" ") for number in numbers}


def _threads():
    return {thread for thread in threading.enumerate() if not thread.daemon}


@pytest.fixture(scope="session", autouse=True)
def clean_house(tmp_path_factory):
    """Give the session its own environment and home; fail if it leaves a thread, a process, an open file or socket.

    Tasks need no check: trio ends when its last one has ended.
    """
    threads, files, children = _threads(), _open_files(), _children()
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(_foreign, list(os.environ)):
            patch.delenv(name)
        patch.setattr(model_discovery, "PORTS", {})  # What listens on this machine changes no test.
        patch.setenv("REPLAN_HOME", str(tmp_path_factory.mktemp("home")))
        yield
    if used := sys.modules.get("replan.api.trio_thread"):
        used.close()  # It stays until the process ends, and so do its files.
    deadline = time.monotonic() + 2
    while (left := _threads() - threads) and time.monotonic() < deadline:
        time.sleep(0.05)
    started = {number: line for number, line in _children().items() if number not in children}
    gc.unfreeze()  # The collection of tests, and a command that ran in this process, have frozen garbage too.
    gc.collect()
    opened = {number: target for number, target in _open_files().items() if files.get(number) != target}
    found = {
        "threads still run": sorted(thread.name for thread in left),
        "processes still run": started,
        "files still open": opened,
    }
    assert not any(found.values()), f"after the last test: { ({name: what for name, what in found.items() if what}) }"


@pytest.fixture(scope="session")
def commands(clean_house, request):
    """The server that starts `replan` in processes of their own; workers of a whole run share one."""
    if shared := getattr(request.config, "workerinput", {}).get("commands"):
        yield joined(Path(shared))
        return
    with open_commands() as server:
        yield server


COMMANDS = pytest.StashKey[ExitStack]()


def pytest_configure(config):
    """Start the server of commands for all workers of a whole run, while they collect the tests."""
    whole = config.args == config.getini("testpaths") and not hasattr(config, "workerinput")
    if whole and getattr(config.option, "numprocesses", None):
        with pytest.MonkeyPatch.context() as patch:
            for name in filter(_foreign, list(os.environ)):
                patch.delenv(name)
            config.stash[COMMANDS] = ExitStack()
            server = config.stash[COMMANDS].enter_context(open_commands(wait=False))
            config.shared_commands = str(server.folder)


def pytest_unconfigure(config):
    if COMMANDS in config.stash:
        config.stash[COMMANDS].close()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    if shared := getattr(node.config, "shared_commands", None):
        node.workerinput["commands"] = shared


@pytest.fixture(scope="session")
def warm(commands):
    """The folder of a command `replan` that need not import the program each time it is started."""
    return commands.folder


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Let each worker import another part of the tests first.

    Workers that run side by side would otherwise compile the same files at the same time, where none is compiled yet.
    """
    config = session.config
    if (worker := getattr(config, "workerinput", None)) and config.args == config.getini("testpaths"):
        files = sorted(file for path in config.args for file in Path(config.rootpath, path).rglob("test_*.py"))
        if "long" in config.getini("norecursedirs"):
            files = [file for file in files if "long" not in file.parts]
        for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
            with suppress(Exception):  # The collection of the file will report it.
                importlib.import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


def pytest_collection_modifyitems(items):
    """Run the long tests first: at the end, short ones keep all workers busy."""
    items.sort(key=lambda item: "long" not in item.path.parts)


def pytest_collection_finish():
    """Leave what the collection has made out of later searches for garbage: it stays until the end."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config) -> int:
    """Use a worker for each core, and two where tests are run that mostly wait for processes and servers.

    Each worker collects all tests, which takes it 15 s of processor time.
    """
    return (os.cpu_count() or 1) * (1 if "long" in config.getini("norecursedirs") else 2)


def _suite(parts):
    """Return the suite of a test file: its folder below `tests` or `tests/long`, after the name of its package."""
    package, parts = (f"{parts[1]}: ", parts[2:]) if parts[0] == "packages" else ("", parts)
    if len(parts) <= 2:
        return package + parts[0]
    return package + "/".join(parts[1:-1][: 1 + (parts[1] == "long")])


def pytest_runtest_logreport(report):
    """Add up the seconds and the tests of each suite."""
    suite = _suite(Path(report.nodeid.split("::")[0]).parts)
    SECONDS[suite] += report.duration
    COUNTS[suite] += report.when == "call"


def pytest_terminal_summary(terminalreporter):
    """Print the seconds of each suite, the slowest first."""
    terminalreporter.section("seconds of each suite")
    for suite, seconds in sorted(SECONDS.items(), key=lambda item: -item[1]):
        terminalreporter.write_line(f"{seconds:8.2f} s  {suite} ({COUNTS[suite]} tests)")
