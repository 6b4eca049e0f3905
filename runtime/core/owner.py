"""The name of a process that drives a run, `HOST/NAMESPACE/PID/BIRTH`, and how people read it. Pure.

What the parts are, and when a name proves its process dead, is known to `runtime.process.identity`.
"""

PARTS = 4


def parts_of(owner: str) -> list[str] | None:
    """Return host, PID namespace, PID and birth; None if the owner is no process. A host's name may hold anything."""
    parts = owner.rsplit("/", PARTS - 1)
    return parts if len(parts) == PARTS and parts[2].isascii() and parts[2].isdigit() else None


def describe(owner: str) -> str:
    """Return an owner for people: `process PID on HOST`; what is no process's name stays as it is."""
    parts = parts_of(owner)
    return owner if parts is None else f"process {parts[2]} on {parts[0]}"
