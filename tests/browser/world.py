"""What the browser finds: the demo storage, a rival with the same content, and people with different rights.

Run by `manage.py shell` in the process of the server's installation, not in that of the tests.
"""

from __future__ import annotations

from repository_site.management.commands.demo import DEMO_DATA
from storage.contexts import storage_at
from storage.models import StaffAccount, StorageMembership
from storage.provisioning import StorageRequest, provision_storage
from storage.roles import Role

PASSWORD = "a good password"
ROOT = "root"
"""A site administrator."""
MEMBERS = {
    "rita": ("demo/showcase", tuple(Role)),
    "vera": ("demo/showcase", (Role.VIEWER,)),
    "otto": ("rival/showcase", tuple(Role)),
}


def build() -> None:
    from elements.transfer.importing import import_elements

    rival = provision_storage(StorageRequest(collection="rival", key="showcase", title="Rival"))
    import_elements(rival, str(DEMO_DATA))
    StaffAccount.objects.create_superuser(ROOT, password=PASSWORD)
    for name, (address, roles) in MEMBERS.items():
        account = StaffAccount.objects.create_user(name, password=PASSWORD, is_staff=True)
        storage = storage_at(*address.split("/"))
        StorageMembership.objects.create(account=account, storage=storage, roles=[role.value for role in roles])
