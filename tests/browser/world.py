"""The world of the browser tests: the demo storage, a rival with the same content, and people with different roles.

`build` runs in `manage.py shell` of the server's installation; importing the names alone does not need Django.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from storage.models import Storage

RECEIVER = "https://93.184.216.34/hook"
"""A receiver that no test asks: the server has no worker."""
PASSWORD = "a good password"
ROOT = "root"
"""A site administrator."""
MEMBERS = {
    "rita": ("demo/showcase", "administrator"),
    "vera": ("demo/showcase", "viewer"),
    "otto": ("rival/showcase", "administrator"),
}


def build() -> None:
    from elements.transfer.importing import import_elements
    from repository_site.management.commands.demo import DEMO_DATA
    from storage.messages.writing import tell_of_membership
    from storage.models import StaffAccount, StorageMembership
    from storage.provisioning.provision import StorageRequest, provision_storage
    from storage.tenancy.contexts import storage_at

    rival = provision_storage(StorageRequest(collection="rival", key="showcase", title="Rival"))
    import_elements(rival, str(DEMO_DATA))
    StaffAccount.objects.create_superuser(ROOT, password=PASSWORD)
    for name, (address, role) in MEMBERS.items():
        account = StaffAccount.objects.create_user(name, password=PASSWORD, is_staff=True)
        storage = storage_at(*address.split("/"))
        tell_of_membership(StorageMembership.objects.create(account=account, storage=storage, roles=[role]))
    add_dead_letter(storage_at("demo", "showcase"))


def add_dead_letter(storage: Storage) -> None:
    """Add a webhook whose receiver has refused a message."""
    from django.utils import timezone

    from storage.models import DeliveryState, WebhookAttempt, WebhookDelivery
    from storage.tenancy.scope import tenant_scope
    from storage.webhooks.changing import create_webhook

    now = timezone.now()
    with tenant_scope(storage):
        webhook = create_webhook(storage, "setup", {"url": RECEIVER, "events": ["element.created"]}).webhook
        id, type = str(uuid4()), "element.created"
        event = {"specversion": "1.0", "id": id, "type": type, "data": {"facet": "processes"}}
        delivery = WebhookDelivery.objects.create(
            webhook=webhook, event_id=id, number=1, type=type, subject_id=uuid4(),
            message=json.dumps(event), state=DeliveryState.DEAD, attempts=11, created_on=now, ended_on=now,
        )  # fmt: skip
        for status, error, answer in ((503, "", "Service unavailable"), (None, "The receiver did not answer.", "")):
            WebhookAttempt.objects.create(
                delivery=delivery, time=now, status=status, error=error, milliseconds=40, answer=answer
            )
