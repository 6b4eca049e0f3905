"""Base URLs and keys: which addresses a prompt may be sent to, checked before anything is sent."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from runtime.core.errors import UsageProblem

OPENAI_URL = "https://api.openai.com/v1"
"""The base URL of OpenAI, which is used when none is set."""
ANTHROPIC_URL = "https://api.anthropic.com"
"""The same for Anthropic; the version is a part of the paths of its interface."""

CALL_SECONDS = 120.0
"""The time limit of one call in seconds where nobody sets one."""
LOCAL_CALL_SECONDS = 600.0
"""The same for a server on this machine or in a private network: it loads the model first, and may write slowly."""

_HOST_MAX = 253
_PRIVATE = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8",  # RFC 1918
            "172.16.0.0/12",
            "192.168.0.0/16",
            "169.254.0.0/16",  # link-local, RFC 3927
            "fc00::/7",  # unique local, RFC 4193
            "fe80::/10",  # link-local, RFC 4291
        ),
    )
)
"""What counts as a private network. `is_private` of `ipaddress` also holds for Teredo, which leaves the network, and
for addresses that are reserved or only for examples."""


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


def checked_key(text: str, *, place: str) -> str:
    """Return a key of an API without blanks around it. Raises `UsageProblem` for what no key can be."""
    key = text.strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise UsageProblem("holds characters that no key has", place=place, hint="copy the key again")
    return key


def is_name(host: str) -> bool:
    """Tell whether a host's name can be looked up: no label is empty or too long (RFC 1035, 2.3.4)."""
    try:
        return bool(host.encode("idna")) and len(host) <= _HOST_MAX
    except UnicodeError:
        return False


def is_loopback(host: str) -> bool:
    """Tell whether the host is this machine: `localhost`, a loopback address, or the unspecified one.

    Names below `localhost` do not count: RFC 6761 reserves them for this machine, but some resolvers ask a name server.
    """
    name = host.lower().rstrip(".")
    address = _address(name)
    return name == "localhost" or (address is not None and (address.is_loopback or address.is_unspecified))


def call_seconds(base_url: str) -> float:
    """Return the time limit of one call to a server in seconds where nobody sets one; of any text, also no URL."""
    try:
        host = urlsplit(base_url.strip()).hostname or ""
    except ValueError:
        return CALL_SECONDS
    return LOCAL_CALL_SECONDS if is_local(host) else CALL_SECONDS


def is_local(host: str) -> bool:
    """Tell whether the host is this machine, or an address in digits of a private network."""
    address = _address(host)
    return is_loopback(host) or (
        address is not None and any(address.version == net.version and address in net for net in _PRIVATE)
    )


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address that a host is in digits, one of IPv4 also where it is written as one of IPv6."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _normal(parts: SplitResult) -> str:
    return parts._replace(path=parts.path.rstrip("/")).geturl()
