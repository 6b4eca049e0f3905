"""Where a home and its journal are: the variable, the platform, the URL, and places that are refused."""

import stat
from pathlib import Path

import platformdirs
import pytest

from replan.setup.home_folder import Home, database_url, filesystem_of, locate_home, prepare_home
from runtime.core import extras
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import HomeBudgetSpent, UsageProblem
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.open_journal import open_journal
from tests.contracts.toy_events import CODEC, counted, driven

MOUNTS = r"""/dev/root / ext4 rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /mnt/shared nfs4 rw 0 0
/dev/sdb1 /mnt/shared/local xfs rw 0 0
server:/blank /mnt/with\040blank cifs rw 0 0
server:/below /over nfs rw 0 0
/dev/sdc1 /over ext4 rw 0 0
malformed
"""


def test_the_variable_names_the_home(tmp_path):
    assert locate_home({"REPLAN_HOME": str(tmp_path)}) == Home(tmp_path)


@pytest.mark.parametrize("environment", [{}, {"REPLAN_HOME": ""}])
def test_without_it_the_platform_says_where(environment):
    assert locate_home(environment) == Home(Path(platformdirs.user_data_dir("replan")))


def test_a_relative_home_and_a_tilde_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    assert locate_home({"REPLAN_HOME": "here"}).folder == tmp_path / "here"
    assert locate_home({"REPLAN_HOME": "~/there"}).folder == tmp_path / "me" / "there"


def test_locating_makes_nothing_and_opening_makes_a_private_folder(tmp_path):
    environment = {"REPLAN_HOME": str(tmp_path / "deep" / "home")}
    locate_home(environment)
    assert list(tmp_path.iterdir()) == []
    home = prepare_home(environment)
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700
    assert (home.journal.name, home.config.name) == ("journal.sqlite3", "config.yaml")
    assert prepare_home(environment) == home


def test_an_unsafe_home_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(UsageProblem, match="other users can write"):
        prepare_home({"REPLAN_HOME": str(tmp_path)})


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs"])
def test_a_home_on_a_network_file_system_is_refused(tmp_path, kind):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/root / ext4 rw 0 0\nserver:/x {tmp_path} {kind} rw 0 0\n")
    with pytest.raises(UsageProblem, match="network file system") as caught:
        prepare_home({"REPLAN_HOME": str(tmp_path / "home")}, mounts=mounts)
    assert "REPLAN_HOME" in caught.value.hint


def test_a_local_home_is_accepted_and_so_is_a_system_without_a_table(tmp_path):
    mounts = tmp_path / "mounts"
    environment = {"REPLAN_HOME": str(tmp_path / "home")}
    prepare_home(environment, mounts=mounts)
    mounts.write_text("/dev/root / ext4 rw 0 0\n")
    prepare_home(environment, mounts=mounts)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me", "ext4"),
        ("/mnt/shared", "nfs4"),
        ("/mnt/shared/deep/down", "nfs4"),
        ("/mnt/shared/local/x", "xfs"),
        ("/mnt/sharedness", "ext4"),
        ("/mnt/with blank/x", "cifs"),
        ("/over/x", "ext4"),
    ],
)
def test_the_nearest_and_latest_mount_says_what_a_path_is_on(path, kind):
    assert filesystem_of(Path(path), MOUNTS) == kind


def test_an_empty_table_says_nothing():
    assert filesystem_of(Path("/home"), "") is None


@pytest.mark.parametrize("kept", [True, False])
async def test_a_url_opens_the_journal_that_it_names(tmp_path, clock, kept):
    url = f"sqlite:{tmp_path / 'home' / 'journal.sqlite3'}" if kept else "memory:"
    async with open_journal(url, CODEC, clock, budget=HomeBudget(calls=1)) as journal:
        epoch = await driven(journal, "a")
        summary = Summary("running", committed=Amount(calls=2))
        with pytest.raises(HomeBudgetSpent):
            await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=summary)
    async with open_journal(url, {"planning": CODEC}, clock) as journal:
        if kept:
            assert (await journal.row("a")).title == "title of a"
        else:
            await journal.create("a", "")


@pytest.mark.parametrize("url", ["sqlite:", "memory:x", "sqlite", "memory", "", "home/journal.sqlite3"])
def test_what_is_no_url_of_a_journal_is_refused_in_one_line(clock, url):
    with pytest.raises(UsageProblem, match="sqlite:PATH, memory:") as caught:
        open_journal(url, CODEC, clock)
    assert len(str(caught.value).splitlines()) == 1


def test_a_url_of_an_unknown_form_is_refused_without_its_password(clock):
    with pytest.raises(UsageProblem, match="no journal supports URLs that begin with mysql:") as caught:
        open_journal("mysql://user:secret@server/db", CODEC, clock)
    assert "secret" not in str(caught.value)


def test_a_journal_of_a_package_that_is_not_installed_names_what_to_install(monkeypatch):
    monkeypatch.setitem(extras.EXTRAS, "server", {"journals": ("oracle",)})
    with pytest.raises(UsageProblem, match=r"REPLAN_JOURNAL: .* not installed \(pip install ") as caught:
        database_url({"REPLAN_JOURNAL": "oracle://user:secret@server/db"})
    assert "secret" not in str(caught.value)
