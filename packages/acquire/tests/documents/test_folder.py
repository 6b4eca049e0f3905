"""A folder of documents: what is read, what is left out with a notice, and where each passage stands."""

import os
import time

import pytest

from replan_acquire.documents import index as folder_module
from replan_acquire.documents.index import FILE_BYTES_MAX, list_folder, open_index, query_terms, read_document
from replan_acquire.documents.passages import PASSAGE_CHARACTERS_MAX, passages_of
from replan_acquire.documents.tables import table_lines
from replan_acquire.documents.text_document import html_lines

PAGE = """<html lang="pt-PT"><head><title>Carregadores &amp; edif&iacute;cios</title><style>p{color:red}</style></head>
<body><h1>Mercado</h1>
<p>Existem <b>250.000</b> edif&iacute;cios
de habita&ccedil;&atilde;o.</p>
<script>document.write("ignore all")</script><!-- hidden -->
<table><tr><th>Pre&ccedil;o<td>1.100,50 EUR</tr></table>
2 < 3</body></html>"""


@pytest.fixture
def docs(tmp_path):
    """A folder with one document of each format."""
    files = {
        "market.md": "# Market\n\nThere are 250,000 apartment buildings.\n\n## Prices\n\n"
        "A charger costs 1,100.50 EUR.\n",
        "mercado.html": PAGE,
        "inner/table.csv": 'city;buildings;share\nLisboa;12.500;7,5 %\n"Vila\nNova";300;4,1 %\nPorto;9.100;6,2 %\n',
        "tokyo.txt": "東京都の集合住宅の数は三百万棟である。",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def found(docs, query, limit=5):
    return [passage.source for passage in open_index(docs).search(query, limit)]


def test_every_format_is_read_and_found(docs):
    assert open_index(docs).documents == 4
    assert found(docs, "charger costs")[0] == "market.md"
    assert found(docs, "Lisboa")[0] == "inner/table.csv"
    assert found(docs, "集合住宅")[0] == "tokyo.txt"
    assert found(docs, "住宅")[0] == "tokyo.txt"
    assert found(docs, "東")[0] == "tokyo.txt"


def test_case_diacritics_and_plurals_do_not_count(docs):
    assert found(docs, "EDIFICIOS habitacao")[0] == "mercado.html"
    assert found(docs, "apartment building")[0] == "market.md"


@pytest.mark.parametrize(
    "query", ["", "   ", '")', "NOT", "* OR *", "a AND", "title:x", "\x00", "-", "'; DROP TABLE passages"]
)
def test_no_query_is_an_operator_or_an_error(docs, query):
    assert isinstance(found(docs, query), list)


def test_a_long_query_has_a_bounded_number_of_terms():
    assert len(query_terms("abc def " * 1000)) == 2
    assert len(query_terms(" ".join(f"w{number}" for number in range(1000)))) == 40


def test_a_passage_names_its_lines_heading_language_and_decimal_mark(docs):
    (passage,) = [each for each in open_index(docs).passages if "1,100.50" in each.text]
    assert (passage.title, passage.first_line, passage.last_line) == ("Market: Prices", 5, 7)
    assert passage.decimal_mark == "point"
    page = next(each for each in open_index(docs).passages if each.source == "mercado.html")
    assert (page.language, page.decimal_mark) == ("pt", "comma")
    assert page.title.startswith("Carregadores & edifícios")


def test_a_page_is_read_without_its_scripts_styles_and_comments():
    lines = html_lines(PAGE)
    text = [line for _, line in lines if line]
    assert text == [
        "Carregadores & edifícios",
        "# Mercado",
        "Existem 250.000 edifícios de habitação.",
        "Preço | 1.100,50 EUR",
        "2 < 3",
    ]
    assert {line: number for number, line in lines}["Existem 250.000 edifícios de habitação."] == 3


@pytest.mark.parametrize("piece", ["<", "<a ", "<!--", "<script>", "&", "<p>", "<td>", "<!", "</script", "\n<b>"])
def test_a_broken_page_takes_a_time_that_grows_with_its_size(piece):
    page = piece * (300_000 // len(piece))
    started = time.process_time()
    html_lines(page)
    assert time.process_time() - started < 2


def test_the_rows_of_a_table_name_their_columns_and_lines():
    assert table_lines('city;share\nLisboa;7,5\n"Vila\nNova";4,1;more\n\nPorto\n') == [
        (1, "city | share"),
        (2, "city: Lisboa | share: 7,5"),
        (3, "city: Vila Nova | share: 4,1 | more"),
        (6, "Porto"),
    ]
    assert table_lines("") == []
    assert table_lines('a,"' + "x" * 200_000) == []  # A cell that never ends.


def test_what_cannot_be_read_is_a_notice_and_the_rest_is_searched(docs):
    (docs / "binary.txt").write_bytes(b"\x7fELF\x00\x01" * 100)
    (docs / "noise.md").write_bytes(bytes(range(1, 32)) * 100)
    (docs / "latin.txt").write_bytes("preço médio".encode("latin-1"))
    (docs / "huge.txt").write_text("market word\n" * (FILE_BYTES_MAX // 10))
    (docs / "report.pdf").write_bytes(b"%P")
    (docs / "outside.txt").symlink_to("/etc/hostname")
    os.mkfifo(docs / "pipe.txt")
    (docs / ".hidden.txt").write_text("hidden")
    index = open_index(docs)
    told = dict(notice.split(": ", 1) for notice in index.notices)
    assert "not text" in told["binary.txt"]
    assert "not text" in told["noise.md"]
    assert "Windows-1252" in told["latin.txt"]
    assert "only the first 2048 KiB" in told["huge.txt"]
    assert told["report.pdf"] == "left out: the file is not a PDF file"
    assert "link" in told["outside.txt"]
    assert "not a regular file" in told["pipe.txt"]
    assert len(told) == 7
    assert found(docs, "Lisboa") == ["inner/table.csv"]
    assert found(docs, "preco medio")[0] == "latin.txt"
    assert found(docs, "hidden") == []


def test_a_file_that_may_not_be_read_is_a_notice(docs, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folder_module.os, "open", denied)
    assert read_document(docs, "market.md") == (None, "market.md: cannot be read: permission denied")


def test_the_number_and_the_size_of_documents_are_bounded(docs, monkeypatch):
    monkeypatch.setattr(folder_module, "FILES_MAX", 2)
    listing = list_folder(docs)
    assert [stamp.name for stamp in listing.files] == ["market.md", "mercado.html"]
    assert all("the folder's documents are too many, or too large together" in notice for notice in listing.notices)
    monkeypatch.setattr(folder_module, "ENTRIES_MAX", 1)
    assert "left out with all later files" in list_folder(docs).notices[-1]
    monkeypatch.setattr(folder_module, "ENTRIES_MAX", 100)
    monkeypatch.setattr(folder_module, "DEPTH_MAX", 0)
    assert "inner: left out, because the folder is nested more than 0 levels deep" in list_folder(docs).notices


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        open_index(tmp_path / "none")


def test_an_index_is_built_anew_only_after_a_change(docs):
    first = open_index(docs)
    assert open_index(docs) is first
    (docs / "new.txt").write_text("geothermal")
    assert found(docs, "geothermal") == ["new.txt"]


def test_the_order_of_results_is_the_same_every_time_and_one_document_does_not_fill_it(tmp_path):
    for name in ("b.txt", "a.txt", "c.txt"):
        (tmp_path / name).write_text("\n\n".join(f"charger market {'x ' * 500}" for _ in range(8)))
    names = found(tmp_path, "charger market", 9)
    assert sorted(names) == ["a.txt"] * 3 + ["b.txt"] * 3 + ["c.txt"] * 3
    open_index.__globals__["_build_index"].cache_clear()
    assert found(tmp_path, "charger market", 9) == names


def test_every_line_of_a_document_is_in_a_passage_of_bounded_size(tmp_path):
    words = [f"word{number}" for number in range(5000)]
    text = "# Title\n" + " ".join(words[:2000]) + "\n\n" + "\n".join(words[2000:]) + "\n" + "x" * 5000
    (tmp_path / "long.md").write_text(text)
    document, _ = read_document(tmp_path, "long.md")
    passages = list(passages_of(document))
    assert all(0 < len(passage.text) <= PASSAGE_CHARACTERS_MAX for passage in passages)
    together = " ".join(passage.text for passage in passages).split()
    assert [word for word in together if word.startswith("word")] == words
    assert sum(word.count("x") for word in together) == 5000
