"""Without the outside cases there is nothing to agree with: one visible skip stands for all of them."""

from tests.support.external import FOLDER

collect_ignore_glob = [] if FOLDER.is_dir() else ["test_external_*.py"]
