"""Writes what a release is made of as a CycloneDX document: `make sbom`. The same lock gives the same document."""
# ruff: noqa: INP001, T201 -- a script, not a package

import json
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from page_parts.dependencies import ROOT, Dependency, dependencies

OUT = ROOT / "build" / "sbom.cdx.json"


def component(each: Dependency) -> dict[str, object]:
    """Return a package as CycloneDX has it. The hashes are those of all its files: sources and wheels."""
    found: dict[str, object] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{each.name}@{each.version}",
        "name": each.name,
        "version": each.version,
        "purl": f"pkg:pypi/{each.name}@{each.version}",
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{each.name}/{each.version}/",
                "hashes": [{"alg": "SHA-256", "content": content} for content in each.hashes],
            }
        ],
    }
    return found | ({"licenses": [{"expression": each.licence}]} if each.licence else {})


def document() -> dict[str, object]:
    """Return the document."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    found = [component(each) for each in dependencies()]
    about = {
        "type": "application",
        "bom-ref": own,
        "name": project["name"],
        "version": project["version"],
        "licenses": [{"expression": project["license"]}],
        "purl": own,
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": about},
        "components": found,
        "dependencies": [{"ref": own, "dependsOn": [each["bom-ref"] for each in found]}],
    }


def main() -> None:
    """Write the document."""
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document(), indent=1) + "\n", encoding="utf-8")
    print(OUT.relative_to(ROOT))


if __name__ == "__main__":
    main()
