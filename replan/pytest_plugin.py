"""The former place of `replan.testing`, for environments that are not set up again yet."""

import sys

from replan import testing

sys.modules[__name__] = testing
