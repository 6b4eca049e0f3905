"""The key that signs attestations: a file with mode 0600, in the home unless another one is named."""

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.core.extras import install_command
from runtime.journal.folder import FILE_MODE

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

EXTRA = "attest"
"""The extra that has what signs and verifies."""
NAME = "attest-key.pem"
"""The name of the key's file in the home."""
BYTES_MAX = 10_000
"""A key has about 120 bytes, so a larger file is none."""


def check_extra() -> None:
    """Raise `UsageProblem` where the extra is not installed."""
    from importlib.util import find_spec  # noqa: PLC0415 -- only where something is signed

    if find_spec("cryptography") is None:
        raise UsageProblem("attestations need the extra `attest`", hint=install_command(EXTRA))


def make_key(path: Path) -> str:
    """Write a new private key to a file, and return its public key in hex. Raises `UsageProblem` where a file is."""
    check_extra()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 -- of an extra
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat  # noqa: PLC0415

    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    except FileExistsError:
        hint = "move it away first: what it has signed needs its public key"
        raise UsageProblem("there is a key already", place=str(path), hint=hint) from None
    except OSError as error:
        raise UsageProblem(_cause(error), place=str(path), hint="name a file that you may write") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    return key.public_key().public_bytes_raw().hex()


def read_key(path: Path) -> "Ed25519PrivateKey":
    """Return the private key in a file. Raises `UsageProblem` for a missing one, and one that others may read."""
    check_extra()
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 -- of an extra
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        with path.open("rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(BYTES_MAX)
    except FileNotFoundError:
        hint = f"`{program()} attest --new-key` makes one"
        raise UsageProblem("there is no key to sign with", place=str(path), hint=hint) from None
    except OSError as error:
        raise UsageProblem(_cause(error), place=str(path), hint="name the file of a key") from None
    if stat.S_IMODE(mode) & 0o077:
        raise UsageProblem("other users may read the key", place=str(path), hint=f"chmod 600 {path}")
    try:
        key = load_pem_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        hint = f"`{program()} attest --new-key --key FILE` makes one"
        raise UsageProblem("it is not the private key of Ed25519 in PEM", place=str(path), hint=hint)
    return key


def _cause(error: OSError) -> str:
    return (error.strerror or "it cannot be opened").lower()
