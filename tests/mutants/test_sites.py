"""A mutant changes one place, and leaves alone what no test of behaviour can see."""

import ast

from tests.mutants.__main__ import AREAS, PLANTED, Sample, chosen, dotted, import_paths, judged
from tests.mutants.sites import sites
from tests.soak import SUITES
from tests.tidy.source import ROOT

SOURCE = '''"""1 + 1 in a docstring."""
LIMIT: int = 3

@cache(maxsize=64)
def f(a: "1 < 2", b=True):
    """Docstring 1."""
    assert a < 1
    if not a or a < LIMIT + 1:
        g(a)
        a += 2
    return a
'''


def test_each_change_is_of_one_place_and_gives_another_program():
    trees = set()
    for site in sites(SOURCE):
        changed = site.applied(SOURCE)
        assert SOURCE[site.begin : site.end] == site.before
        trees.add(ast.dump(ast.parse(changed)))
    assert len(trees) == len(sites(SOURCE)) == 11
    assert ast.dump(ast.parse(SOURCE)) not in trees


def test_every_sort_is_found_and_what_no_test_can_see_is_not():
    found = {(site.sort, site.before, site.after) for site in sites(SOURCE)}
    assert ("comparison", "a < LIMIT + 1", "(a <= LIMIT + 1)") in found
    assert ("boolean", "not a", "(a)") in found
    assert ("operator", "LIMIT + 1", "(LIMIT - 1)") in found
    assert ("constant", "True", "False") in found
    assert ("statement", "g(a)", "pass") in found
    assert ("result", "return a", "return None") in found
    assert not [site for site in sites(SOURCE) if site.before == "64" or site.line in (1, 4, 6, 7)]


def test_every_folder_of_actors_has_suites_and_every_judged_survivor_its_place():
    folders = {path.parent.name for path in (ROOT / "actors").glob("*/*.py")}
    assert folders <= set(AREAS)
    assert set(AREAS) <= {path.parent.name for folder in PLANTED for path in (ROOT / folder).glob("*/*.py")}
    assert all((ROOT / suite).exists() for suites in AREAS.values() for suite in suites)
    for each in judged():
        source = (ROOT / each["file"]).read_text(encoding="utf-8")
        assert each["text"] in (line.strip() for line in source.splitlines()), each
        assert each["before"] in source, each


def test_every_mutant_is_in_a_module_that_its_copy_imports():
    """Otherwise the installed module would be imported, and no test could catch the mutant."""
    for file in {file for _, file, _ in chosen(ROOT, 1)}:
        module = dotted(file).replace(".", "/")
        paths = [path for path in import_paths(ROOT) if (path / f"{module}.py").exists()]
        assert [path / f"{module}.py" for path in paths] == [ROOT / file]


def test_every_suite_of_the_soak_exists():
    for words, _ in SUITES.values():
        assert all((ROOT / word).exists() for word in words if "tests/" in word and not word.startswith("-"))


def test_a_truth_value_that_is_returned_changes_to_the_other_one_alone():
    found = [
        (site.before, site.after)
        for site in sites("def f(a) -> bool:\n    if a:\n        return False\n    return 0\n")
    ]
    assert found == [("False", "True"), ("return 0", "return None"), ("0", "1")]


def test_a_sample_goes_on_where_its_file_ends_and_counts_what_is_judged(tmp_path):
    sample, (equivalent, *_) = Sample(tmp_path / "out.json", 5), judged()
    for row in ({**equivalent, "text": "another line", "result": "caught"}, {**equivalent, "result": "survived"}):
        sample.add({**row, "line": 1}, 2)
    again = Sample(tmp_path / "out.json", 5).value
    assert [row["result"] for row in again["rows"]] == ["caught", "equivalent"]
    assert (again["mutants"], again["caught"], again["equivalent"], again["seconds"]) == (1, 1, 1, 4)
    assert Sample(tmp_path / "out.json", 6).value["rows"] == []
