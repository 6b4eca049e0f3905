"""Archiving keeps its contract with a journal in Postgres; the role `archive` may archive, and `app` may not."""

import pytest

from runtime.core.errors import JournalUnreadable
from runtime.journal.port import nobody
from runtime.open_offline import upgrade
from tests.contracts.archive import ArchiveContract, archive, filled, ids
from tests.long.postgres.conftest import DATABASE


class TestPostgres(ArchiveContract):
    """The contract."""


async def test_the_role_archive_may_archive_and_the_role_app_may_not(server, url, tmp_path):
    for role in ("keeper", "worker"):
        server.execute("postgres", f"CREATE ROLE {role} LOGIN")
    upgrade(url, {"archive": "keeper", "app": "worker"}, nobody)
    await filled(url)
    with pytest.raises(JournalUnreadable, match="use a role with the rights"):
        archive(server.url(DATABASE, user="worker"), tmp_path / "archive")
    assert len(await ids(url)) == 3
    assert [done.problem for done in archive(server.url(DATABASE, user="keeper"), tmp_path / "archive")] == [""]
    assert await ids(url) == ["b"]
