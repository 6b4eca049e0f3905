"""Installs a distribution with plug-ins for one test: a folder with a module and the file of its entry points."""

import sys
from pathlib import Path

from runtime.core import entry_points


def install(monkeypatch, site, name, groups, requires="", **modules):
    """Install the distribution `name`, with entry points `{group: {name: value}}` and modules by name, in a folder.

    `requires` is what it needs, as in `Requires-Dist`.
    """
    info = Path(site) / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    for module, text in modules.items():
        (Path(site) / f"{module}.py").write_text(text)
        monkeypatch.delitem(sys.modules, module, raising=False)
    needs = f"Requires-Dist: {requires}\n" if requires else ""
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()) for group, points in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))
    if str(site) not in sys.path:
        monkeypatch.syspath_prepend(str(site))
    entry_points._all_points.cache_clear()
