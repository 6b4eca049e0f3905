"""Base URLs: which addresses a prompt may be sent to, checked before anything is sent."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from runtime.core.errors import UsageProblem

OPENAI_URL = "https://api.openai.com/v1"
"""The base URL when none is set."""

_HOST_MAX = 253


def check_base_url(text: str, *, place: str = "OPENAI_BASE_URL") -> str:
    """Return the base URL without its trailing slash.

    It must be `https`, or plain `http` to this machine or to an address of a private network in digits: a name could
    resolve to any address, and the key and the prompt would be sent unencrypted.

    Raises:
        UsageProblem: naming `place`, never the URL itself, which may hold a password.
    """
    try:
        parts = urlsplit(text.strip())
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise UsageProblem(
            "not a URL, or one whose host or port is not valid", place=place, hint=f"such as {OPENAI_URL}"
        ) from None
    if parts.scheme not in {"http", "https"} or not host:
        raise UsageProblem("not an http or https URL", place=place, hint=f"such as {OPENAI_URL}")
    if not is_name(host):
        raise UsageProblem("the host's name is not valid", place=place, hint=f"such as {OPENAI_URL}")
    if "@" in parts.netloc:
        raise UsageProblem("holds a user name or password", place=place, hint="put the key into OPENAI_API_KEY")
    if parts.query or parts.fragment:
        raise UsageProblem("holds a query or fragment", place=place, hint="end it at the path, such as /v1")
    if any(character.isspace() or not character.isprintable() for character in parts.geturl()):
        raise UsageProblem("holds white space or control characters", place=place, hint=f"such as {OPENAI_URL}")
    if parts.scheme == "http" and not is_local(host):
        raise UsageProblem(
            "plain http would send the key and the prompt in the clear",
            place=place,
            hint="use https, localhost, or a private address in digits such as 192.168.1.5",
        )
    return _normal(parts)


def is_name(host: str) -> bool:
    """Tell whether a host's name can be looked up: no label is empty or too long (RFC 1035, 2.3.4)."""
    try:
        return bool(host.encode("idna")) and len(host) <= _HOST_MAX
    except UnicodeError:
        return False


def is_loopback(host: str) -> bool:
    """Tell whether the host is this machine: `localhost` (RFC 6761) or a loopback address."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def is_local(host: str) -> bool:
    """Tell whether the host is this machine, or an address in digits of a private network."""
    if is_loopback(host):
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return False


def _normal(parts: SplitResult) -> str:
    return parts._replace(path=parts.path.rstrip("/")).geturl()
