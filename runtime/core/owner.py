"""The name of a process that drives a run, `HOST/NAMESPACE/PID/BIRTH`, and its form for people. Pure.

`runtime.process.identity` makes these names, and tells from them whether a process is dead.
"""

PARTS = 4


def parts_of(owner: str) -> list[str] | None:
    """Return host, PID namespace, PID and birth; None if the owner is no process. A host's name may contain slashes."""
    parts = owner.rsplit("/", PARTS - 1)
    return parts if len(parts) == PARTS and parts[2].isascii() and parts[2].isdigit() else None


def describe(owner: str) -> str:
    """Return `process PID on HOST` for the name of a process, and any other name unchanged."""
    parts = parts_of(owner)
    return owner if parts is None else f"process {parts[2]} on {parts[0]}"
