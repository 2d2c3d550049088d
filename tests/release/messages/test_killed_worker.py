"""A worker that is killed while it sends a mail: the mail is sent again, exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mail_server import mail_server
from tests.server_process import DataFolders
from tests.working_jobs.installation import JobInstallation

pytestmark = [pytest.mark.server, pytest.mark.long]
INVITE = """
from release.messages.periodic import tell
from storage.access.memberships import MembershipTerms, admit
from storage.models import StaffAccount
from storage.options import Role
from storage.tenancy.contexts import storage_at
boss = StaffAccount(username="boss", is_superuser=True)
StaffAccount.objects.create(username="new", email="new@example.org", is_staff=True)
storage = storage_at("acme", "handbook")
admit(storage, "new", "", MembershipTerms([Role.EDITOR]), boss)
tell(storage)
"""


@pytest.fixture
def installed(tmp_path: Path, data_folders: DataFolders) -> Iterator[JobInstallation]:
    installation = JobInstallation(tmp_path, data_folders)
    yield installation
    installation.close()


def test_a_killed_worker_loses_no_mail(installed: JobInstallation) -> None:
    with mail_server() as (server, room):
        installed.server.environ |= {
            "EMAIL_URL": f"smtp://127.0.0.1:{server.port}",
            "REPOSITORY_PUBLIC_URL": "https://repository.example.org",
        }
        room.stalls = True
        installed.shell(INVITE)
        worker = installed.work()
        installed.wait_for(lambda: len(room.taken) == 1, 60, "no mail")
        worker.kill()
        worker.wait(60)
        room.stalls = False
        sent = "SELECT count(*) FROM storage_outgoingmail WHERE sent_on IS NOT NULL"
        assert installed.server.ask(sent) == 0
        installed.work()
        installed.wait_for(lambda: installed.server.ask(sent) == 1, 120, "the mail is not sent again")
        [first, second] = room.empty()
        assert first[0] == second[0] == "new@example.org"
        assert first[1]["Message-ID"] == second[1]["Message-ID"]
