"""Pages of the site's back office, and the pages about staff and tokens in the back office of a storage."""

from storage.admin import collections, memberships, sign_ins, staff, storages
from storage.admin.tokens import site_tokens, storage_tokens

__all__ = ["collections", "memberships", "sign_ins", "site_tokens", "staff", "storage_tokens", "storages"]
