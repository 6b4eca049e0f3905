"""Hooks of the site of the documentation: what it has beside the pages of `docs`, and how its search weighs pages.

The site has a page with every name of `replan`, made from docstrings, and draws diagrams in the browser, from a library
that `make site` fetches; without npm it shows their source.
"""

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.utils import get_relative_url
from pymdownx.superfences import fence_code_format

BOOSTS = {"common-questions.md": 20.0, "how-to": 2.0, "tutorial": 1.5}
"""How much a page, or a page of a section, counts in the search; other pages count 1."""
NAMES, NAMES_BOOST = "reference/names.md", 0.3
"""The page of all names, which repeats many words of other pages."""
MERMAID = Path("build/site-tools/mermaid.min.js")
SCRIPT = "assets/javascripts/mermaid.min.js"

_ALL_NAMES = """# Every name of `replan`

From the docstrings. [The Python API](python-api.md) says how they are used together.

## Functions

FUNCTIONS

## Types

TYPES
"""
_LINK_TO_CHECKOUT = re.compile(r"\[([^\]]+)\]\(\.\./\.\./([^)]+)\)")


def on_config(config: Any) -> Any:
    """Let blocks of Mermaid be drawn."""
    if MERMAID.exists():
        config.markdown_extensions.append("pymdownx.superfences")
        drawn = {"name": "mermaid", "class": "mermaid", "format": fence_code_format}
        config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [drawn]}
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the page of all names, and the library that draws."""
    tree = ast.parse(Path("replan/__init__.py").read_text(encoding="utf-8"))
    names = next(ast.literal_eval(node.value) for node in tree.body if _assigns(node, "_NAMES"))
    homes = sorted((name, home) for home, text in names.items() for name in text.split())
    functions, types = (
        "\n\n".join(f"::: {home}.{name}" for name, home in homes if name.islower() is wanted)
        for wanted in (True, False)
    )
    page = _ALL_NAMES.replace("FUNCTIONS", functions).replace("TYPES", types)
    files.append(File.generated(config, NAMES, content=page))
    if MERMAID.exists():
        files.append(File.generated(config, SCRIPT, abs_src_path=str(MERMAID.resolve())))
    return files


def _assigns(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and each.id == name for each in node.targets)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Weigh a page in the search by its section, and name files of the checkout instead of linking to them."""
    section = page.file.src_uri.partition("/")[0]
    boost = NAMES_BOOST if page.file.src_uri == NAMES else BOOSTS.get(section, 1.0)
    page.meta["search"] = {"exclude": True} if page.is_homepage else {"boost": boost}
    return _LINK_TO_CHECKOUT.sub(r"\1 (`\2`)", markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Load the library on pages with diagrams only, as it is large; the theme's script, which comes later, uses it."""
    if 'class="mermaid"' not in html or not MERMAID.exists():
        return html
    return f'{html}<script src="{get_relative_url(SCRIPT, page.url)}"></script>'
