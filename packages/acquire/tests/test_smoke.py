"""One test of each long suite of documents, so that a change that breaks a whole suite is seen at once."""

from packages.acquire.tests.long.documents import test_formats
from packages.acquire.tests.long.documents import test_hostile as test_hostile_documents


def test_a_pdf_is_read_with_its_places(tmp_path):
    test_formats.test_a_pdf_has_paragraphs_and_cells_with_page_and_box(tmp_path)


def test_a_reader_of_documents_that_writes_without_end_is_ended(tmp_path, monkeypatch):
    test_hostile_documents.test_a_reader_that_writes_without_end_is_ended(tmp_path, monkeypatch)
