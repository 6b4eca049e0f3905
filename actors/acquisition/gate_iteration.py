"""The gates at both ends of the graph: `enter_iteration` counts a pass, `finish` ends the run. Pure."""

from actors.acquisition.graph import Hop
from actors.acquisition.state import State
from actors.acquisition.writes import Writes


def enter_iteration(state: State) -> Hop:
    """Count one more pass, and end the run where it is aborted or has made all of its passes (S52 to S56)."""
    number = state.planner.iterations + 1
    writes = Writes(iterations=number)
    if state.planner.status == "aborted":
        return Hop("aborted", "the run is aborted: a required value cannot be had", writes)
    most = state.config.profile.caps.iterations
    if number > most:
        return Hop("iterations_exceeded", f"{most} passes through the graph are the most", writes)
    return Hop("continue", f"planning step {number}", writes)


def finish(state: State) -> Hop:
    """Leave the graph; what the run came to is said by its end."""
    return Hop("end", state.path[-1].reason if state.path else "nothing is left")
