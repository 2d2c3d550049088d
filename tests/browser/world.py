"""The world of the browser tests: the demo storage, a rival with the same content, and people with different roles.

`build` runs in `manage.py shell` of the server's installation; importing the names alone does not need Django.
"""

from __future__ import annotations

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
    from storage.models import StaffAccount, StorageMembership
    from storage.provisioning.provision import StorageRequest, provision_storage
    from storage.tenancy.contexts import storage_at

    rival = provision_storage(StorageRequest(collection="rival", key="showcase", title="Rival"))
    import_elements(rival, str(DEMO_DATA))
    StaffAccount.objects.create_superuser(ROOT, password=PASSWORD)
    for name, (address, role) in MEMBERS.items():
        account = StaffAccount.objects.create_user(name, password=PASSWORD, is_staff=True)
        StorageMembership.objects.create(account=account, storage=storage_at(*address.split("/")), roles=[role])
