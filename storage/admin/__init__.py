"""Pages of the site's back office, and the pages about staff and tokens in the back office of a storage."""

from storage.admin import collections, files, jobs, load, memberships, sign_ins, staff, storages
from storage.admin.people import invitations
from storage.admin.sign_on import provider_admin
from storage.admin.tokens import site_tokens, storage_tokens
from storage.admin.webhooks import deliveries as webhook_deliveries
from storage.admin.webhooks import pages as webhooks

__all__ = [
    "collections",
    "files",
    "invitations",
    "jobs",
    "load",
    "memberships",
    "provider_admin",
    "sign_ins",
    "site_tokens",
    "staff",
    "storage_tokens",
    "storages",
    "webhook_deliveries",
    "webhooks",
]
