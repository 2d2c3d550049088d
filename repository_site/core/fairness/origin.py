"""The storage and the caller of a request, before the database is queried (D195).

Both come from the client, who could name a new one with every request. So a storage counts as such once a request has
found it, and a credential once it was accepted. Until then, the storage is one for all unknown addresses, and the
caller is the network of the client.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Hashable
from dataclasses import dataclass

from django.conf import settings
from django.http import HttpRequest

from repository_site.core.client_network import client_network

MOST_KNOWN = 20_000
# Everything outside of known storages: the installation, and addresses that do not exist.
ELSEWHERE = ""


@dataclass(frozen=True, slots=True)
class RequestOrigin:
    storage: str
    caller: int
    address: str
    """The first two segments of the path, whether or not a storage is there."""
    credential: int
    """Hash of the presented credential, valid or not; 0 without one."""
    is_accepted: bool = False
    """Whether an earlier request with this credential was accepted."""


class Known:
    """Keys that were seen to exist, each with a number. The oldest are forgotten, to bound the memory."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, int] = {}
        self._lock = threading.Lock()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._keys

    def get(self, key: Hashable) -> int | None:
        return self._keys.get(key)

    def add(self, key: Hashable, number: int = 0) -> None:
        with self._lock:
            self._keys[key] = number
            if len(self._keys) > MOST_KNOWN:
                del self._keys[next(iter(self._keys))]


_storages, _credentials = Known(), Known()
_session = re.compile(rf"(?:^|;\s*){re.escape(settings.SESSION_COOKIE_NAME)}=([^;]+)")


def origin_of(request: HttpRequest) -> RequestOrigin:
    """Return the origin. Its first use must precede `StoragePathMiddleware`, which changes the path."""
    known: RequestOrigin | None = getattr(request, "origin", None)
    if known is None:
        known = _identify(request)
        request.origin = known  # type: ignore[attr-defined]  # read above
    return known


def _identify(request: HttpRequest) -> RequestOrigin:
    parts = request.path_info.split("/", 3)
    address = f"{parts[1]}/{parts[2]}" if len(parts) > 2 else ELSEWHERE
    storage = address if address in _storages else ELSEWHERE
    text = _credential(request)
    credential = hash((address, text)) if text else 0
    caller = _credentials.get(credential)
    if caller is None:
        return RequestOrigin(storage, hash(client_network(request)), address, credential)
    return RequestOrigin(storage, caller, address, credential, is_accepted=True)


def origin_by_now(request: HttpRequest) -> tuple[str, int]:
    """Return the storage and the caller, which may not have been known when the request came."""
    found = origin_of(request)
    storage = found.address if found.address in _storages else ELSEWHERE
    return storage, _credentials.get(found.credential) or found.caller


def token_in_headers(request: HttpRequest) -> str:
    """Return the credential that has precedence over a session; empty without one."""
    meta = request.META
    return meta.get("HTTP_AUTHORIZATION") or meta.get("HTTP_SYMBIO_AUTH_TOKEN") or ""


def _credential(request: HttpRequest) -> str:
    found = token_in_headers(request)
    if not found and (cookies := request.META.get("HTTP_COOKIE")):
        session = _session.search(cookies)
        found = session[1] if session else ""
    return found


def storage_was_found(request: HttpRequest) -> None:
    """Let further requests to this address count for its storage."""
    address = origin_of(request).address
    if address not in _storages:
        _storages.add(address)


def anonymous_was_allowed(request: HttpRequest) -> None:
    """Note that the storage allows the caller to read without a credential."""
    request.reader_was_allowed = True  # type: ignore[attr-defined]  # read by the gate


def credential_was_accepted(request: HttpRequest, label: str) -> None:
    """Let further requests with this credential count for its caller, and no longer for the network of the client.

    A client can write its credential in many ways, and add others that are not used: all count for the same caller.
    """
    request.caller_was_accepted = True  # type: ignore[attr-defined]  # read by the gate
    found = origin_of(request)
    caller = hash((found.address, label))
    if found.credential and _credentials.get(found.credential) != caller:
        _credentials.add(found.credential, caller)
