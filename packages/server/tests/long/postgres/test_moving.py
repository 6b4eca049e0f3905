"""Moving runs keeps its contract with a journal in Postgres; the role `archive` may delete, and `app` may not."""

import pytest

from packages.server.tests.long.postgres.conftest import DATABASE
from runtime.core.errors import JournalUnreadable
from runtime.journal.port import nobody
from runtime.open_offline import upgrade
from tests.contracts.moving import MovingContract, filled, ids, move


class TestPostgres(MovingContract):
    """The contract."""


async def test_the_role_archive_may_move_runs_and_the_role_app_may_only_copy_them(server, url, tmp_path):
    for role in ("keeper", "worker"):
        server.execute("postgres", f"CREATE ROLE {role} LOGIN")
    upgrade(url, {"archive": "keeper", "app": "worker"}, nobody)
    await filled(url)
    target = f"sqlite:{tmp_path / 'old' / 'journal.sqlite3'}"
    with pytest.raises(JournalUnreadable, match="use a role with the needed rights"):
        move(server.url(DATABASE, user="worker"), target)
    assert len(await ids(url)) == 3
    assert move(server.url(DATABASE, user="keeper"), target) == {}
    assert await ids(url) == ["b"]
