"""The fixtures of the core's tests of commands and of Python. Without external cases their tests are left out."""

from tests.api.conftest import backend, in_loop  # noqa: F401
from tests.cli.conftest import *  # noqa: F403
from tests.support.external import FOLDER

collect_ignore_glob = [] if FOLDER.is_dir() else ["long/conformance/test_external_*.py"]
