"""An installation with webhooks, whose receivers are in the test."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.server_process import DataFolders
from tests.working_jobs.installation import JobInstallation

SECRET = "whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ADD = """
from django.utils import timezone
from storage.models import Webhook
from storage.tenancy.contexts import storage_at
from storage.tenancy.scope import tenant_scope
from storage.webhooks.credentials import sealed
from storage.webhooks.fan_out import fan_out
storage = storage_at({collection!r}, "handbook")
now = timezone.now()
with tenant_scope(storage):
    for url in {urls!r}:
        Webhook.objects.create(url=url, position=0, secret=sealed({secret!r}), created_on=now, changed_on=now)
    fan_out.enqueue(storage)
"""
_LEFT = "SELECT count(*) FROM storage_webhookdelivery WHERE state <> 'delivered'"


class WebhookInstallation(JobInstallation):
    def __init__(self, folder: Path, folders: DataFolders) -> None:
        super().__init__(folder, folders)
        self.server.environ["REPOSITORY_WEBHOOK_NETWORKS"] = "127.0.0.0/8"

    def add_webhooks(self, collection: str, urls: Sequence[str]) -> None:
        self.shell(ADD.format(collection=collection, urls=list(urls), secret=SECRET))

    def write_events(
        self, collection: str, events: int, subjects: int, *, first: int = 0, pause: float = 0.0
    ) -> subprocess.Popen[bytes]:
        arguments = (collection, str(first), str(events), str(subjects), str(pause))
        return self.run("-m", "tests.working_jobs.event_writer", *arguments)

    def work_impatiently(self, jobs: int) -> subprocess.Popen[bytes]:
        return self.run("-m", "tests.working_jobs.impatient_worker", str(jobs))

    def undelivered(self) -> int:
        return int(self.server.ask(_LEFT))
