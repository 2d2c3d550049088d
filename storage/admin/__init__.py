"""The site's back office, and access to a storage in the storage's own: staff and tokens."""

from storage.admin import collections, memberships, sign_ins, staff, storages
from storage.admin.tokens import site_tokens, storage_tokens

__all__ = ["collections", "memberships", "sign_ins", "site_tokens", "staff", "storage_tokens", "storages"]
