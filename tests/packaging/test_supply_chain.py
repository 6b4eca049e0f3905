"""What a release is made of: each locked package has hashes and an allowed licence, and is in the bill of materials."""

import json
import re
import subprocess
import sys

from tests.docs.test_pages import GENERATE
from tests.tidy.source import ROOT

PARTS = GENERATE.dependencies
LOCKED = re.findall(r"^([a-z0-9.-]+)==", PARTS.LOCK.read_text(encoding="utf-8"), re.MULTILINE)


def test_each_dependency_has_an_allowed_licence():
    found = {each.name: each.licence for each in PARTS.dependencies()}
    assert [*found] == LOCKED
    wrong = {name: said for name, said in found.items() if said and not {*PARTS.atoms(said)} <= PARTS.ALLOWED}
    assert wrong == {}
    assert [name for name, said in found.items() if not said] == ["httpx2-jsfetch", "pywin32"], "other platforms' alone"


def test_a_licence_that_is_not_allowed_or_not_stated_is_seen():
    assert not {*PARTS.atoms("AGPL-3.0-only OR MIT")} <= PARTS.ALLOWED
    assert not {*PARTS.atoms("unknown")} <= PARTS.ALLOWED
    assert PARTS.atoms("MIT AND (Apache-2.0 OR BSD-3-Clause)") == ["MIT", "Apache-2.0", "BSD-3-Clause"]


def test_the_bill_of_materials_has_each_locked_package_with_its_hashes(tmp_path):
    script = "import sys, json; sys.path.insert(0, 'docs'); import sbom; print(json.dumps(sbom.document()))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, capture_output=True, text=True)
    document = json.loads(done.stdout)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert [each["name"] for each in document["components"]] == LOCKED
    for each in document["components"]:
        assert re.fullmatch(r"pkg:pypi/[a-z0-9.-]+@[\w.!+]+", each["purl"])
        hashes = each["externalReferences"][0]["hashes"]
        assert hashes
        assert all(re.fullmatch(r"[0-9a-f]{64}", one["content"]) for one in hashes)
    refs = {each["bom-ref"] for each in document["components"]}
    assert {*document["dependencies"][0]["dependsOn"]} == refs
    assert len(refs) == len(LOCKED)
