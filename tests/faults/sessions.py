"""Sessions of the back office, for servers in processes of their own."""

from __future__ import annotations

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from storage.models import StaffAccount, StorageMembership
from storage.tenancy.contexts import storage_at


def begin_session(username: str, collection: str) -> str:
    """Create an account that is an architect of the handbook, and return the key of its session."""
    account = StaffAccount.objects.create(username=username, is_staff=True)
    StorageMembership.objects.create(account=account, storage=storage_at(collection, "handbook"), roles=["architect"])
    session = SessionStore()
    session[SESSION_KEY] = str(account.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = account.get_session_auth_hash()
    session.save()
    return str(session.session_key)
