"""Why a run was parked though nobody asked for it. The values are stored in journals."""

from typing import Literal

Halt = Literal["", "provider", "plugin"]
"""`provider`: the provider refuses what it is asked; `plugin`: a plug-in of the user has failed; empty: neither."""
