"""Why a run was parked though nobody asked for it. The values are stored in journals."""

from typing import Literal

Halt = Literal["", "provider", "plugin", "reply"]
"""What only a person can mend; empty for nothing.

- `provider`: the provider refuses what it is asked.
- `plugin`: a plug-in of the user has failed.
- `reply`: the model's replies are cut, or filtered, again and again.
"""
