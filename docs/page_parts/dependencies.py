"""What a release installs besides itself: names, versions, hashes and licences, from the lock and from the packages."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-deploy.lock"
ALLOWED = frozenset(
    (
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "ISC",
        "LGPL-3.0-only",
        "MIT",
        "MIT-0",
        "MIT-CMU",
        "MPL-2.0",
    )
) | {"PSF-2.0", "Zlib", "any-OSI"}
"""The licences (SPDX) that a dependency may have. LGPL and MPL bind who changes that package, not who uses it."""
_NAMES = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd-3-clause, apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",  # pypdfium2, with PDFium
    "bsd license": "BSD-3-Clause",
    "mit license": "MIT",
    "the mit license (mit)": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "mplv2.0": "MPL-2.0",
}
"""How packages write a licence that they do not name by its SPDX expression."""
_PIN = re.compile(
    r"^(?P<name>[a-z0-9.-]+)==(?P<version>[^ \\]+)(?: ; [^\\]+?)? \\\n(?P<hashes>(?: +--hash=.*\n?)+)", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Dependency:
    """A package of the lock."""

    name: str
    """Its name, normalised."""
    version: str
    """The version that is locked."""
    hashes: tuple[str, ...]
    """The SHA-256 hashes of its files."""
    licence: str
    """Its licence as an SPDX expression; empty for a package that this platform does not install."""


def dependencies() -> Iterator[Dependency]:
    """Yield the packages in the lock file, in its order."""
    for pin in _PIN.finditer(LOCK.read_text(encoding="utf-8")):
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", pin["hashes"]))
        yield Dependency(pin["name"], pin["version"], hashes, licence_of(pin["name"]))


def licence_of(name: str) -> str:
    """Return the licence that an installed package states, as an SPDX expression; empty where it is not installed."""
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    if stated := about.get("License-Expression"):
        return str(stated)
    classifiers = [
        each.rpartition(" :: ")[2] for each in about.get_all("Classifier") or () if each.startswith("License")
    ]
    first = next(iter(str(about.get("License") or "").strip().splitlines()), "").strip()
    for text in (first, *classifiers):
        known = _NAMES.get(text.lower(), text if set(atoms(text)) <= ALLOWED and text else "")
        if known:
            return known
    return first or "unknown"


def atoms(expression: str) -> list[str]:
    """Return the licences that an SPDX expression names."""
    return [word for word in re.findall(r"[\w.-]+", expression) if word not in {"AND", "OR", "WITH"}]


def _licences() -> str:
    counts = Counter(each.licence or "not installed on Linux" for each in dependencies())
    return "\n".join(f"- {licence}: {count}" for licence, count in sorted(counts.items()))


PARTS: Mapping[str, Callable[[], str]] = {"licences": _licences}
