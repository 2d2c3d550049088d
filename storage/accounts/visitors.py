"""Visitors of pages: storage, session, account and membership of a request, read in one statement (D590).

Django reads the session and its account in two statements, and the membership needs another one. If this
statement does not find something, such as the account of a session, Django looks for it as usual.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from repository_site.core.database.statements import look_up
from repository_site.core.middleware import Middleware
from storage.models import StaffAccount, Storage, StorageMembership
from storage.tenancy.contexts import STORAGE_COLUMNS, STORAGE_JOINED, storage_from_row

KEY = re.compile(r"[a-z0-9]{8,40}")
_ACCOUNT_FIELDS = [field.attname for field in StaffAccount._meta.concrete_fields]
_MEMBERSHIP_FIELDS = ["id", "account_id", "storage_id", "roles", "user_id"]
_COLUMNS = [
    *STORAGE_COLUMNS,
    "d.session_data",
    *(f"a.{name}" for name in _ACCOUNT_FIELDS),
    *(f"m.{name}" for name in _MEMBERSHIP_FIELDS),
]
_SQL = f"""SELECT {", ".join(_COLUMNS)} FROM {STORAGE_JOINED}
    LEFT JOIN django_session d ON d.session_key = %s AND d.expire_date > %s
    LEFT JOIN storage_accountsession k ON k.session_key = d.session_key
    LEFT JOIN storage_staffaccount a ON a.id = k.account_id
    LEFT JOIN storage_storagemembership m ON m.account_id = a.id AND m.storage_id = s.id
    WHERE c.key = %s AND s.key = %s"""  # noqa: S608  names of the models


@dataclass(frozen=True, slots=True)
class SessionVisitor:
    """The session of a request as it is stored, and the account that has begun it."""

    key: str
    session_data: str
    account: StaffAccount

    def enter(self, request: HttpRequest) -> None:
        """Give the request its session and its account, unless Django has to decide."""
        session: Any = request.session
        if session.session_key != self.key or hasattr(session, "_session_cache"):
            return
        content = session.decode(self.session_data)
        session._session_cache = content
        if self._is_signed_in(content):
            # Django would read the account from the session: responses vary with the cookie, and the use is noted.
            session.accessed = True
            request._cached_user = self.account  # type: ignore[attr-defined]  # where Django keeps it

    def _is_signed_in(self, content: dict[str, Any]) -> bool:
        """Check what Django checks. If a check fails, Django checks again: the secret key may be a former one."""
        known = content.get(HASH_SESSION_KEY, "")
        return (
            content.get(SESSION_KEY) == str(self.account.pk)
            and content.get(BACKEND_SESSION_KEY) in settings.AUTHENTICATION_BACKENDS
            and self.account.is_active
            and constant_time_compare(known, self.account.get_session_auth_hash())
        )


def read_visit(collection_key: str, storage_key: str, session_key: str) -> tuple[Storage | None, SessionVisitor | None]:
    """Return the storage of an address, and the visitor with this session, if an account has begun it."""
    rows = look_up(_SQL, [session_key, timezone.now(), collection_key, storage_key])
    if not rows:
        return None, None
    row, alias = rows[0], connection.alias
    storage, rest = storage_from_row(row), row[len(STORAGE_COLUMNS) :]
    if rest[1] is None:
        return storage, None
    account = StaffAccount.from_db(alias, _ACCOUNT_FIELDS, rest[1 : len(_ACCOUNT_FIELDS) + 1])
    membership = rest[len(_ACCOUNT_FIELDS) + 1 :]
    found = StorageMembership.from_db(alias, _MEMBERSHIP_FIELDS, membership) if membership[0] is not None else None
    account.membership_here = storage.id, found  # type: ignore[attr-defined]  # for known_membership
    return storage, SessionVisitor(session_key, rest[0], account)


def known_membership(account: StaffAccount, storage: UUID) -> tuple[bool, StorageMembership | None]:
    """Return whether the statement of the visit has read the membership of a storage, and the membership."""
    place, found = getattr(account, "membership_here", (None, None))
    return place == storage, found


class VisitorMiddleware(Middleware):
    """Gives requests for pages of a storage the session and the account that were read with the storage."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        visitor: SessionVisitor | None = getattr(request, "visitor", None)
        if visitor is not None:
            visitor.enter(request)
        return self.get_response(request)
