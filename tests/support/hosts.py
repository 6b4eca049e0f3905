"""A stand-in for `Engine.hosted`."""

import trio


async def is_hosted(_engine):
    """Say that a host serves the home."""
    await trio.lowlevel.checkpoint()
    return True
