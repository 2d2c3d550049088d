"""The storage and the caller of a request, before the database is queried (D195).

Both come from the client, who could name a new one with every request. So a storage counts as such once a request has
found it, and a credential once it was accepted. Until then, the storage is one for all unknown addresses, and the
caller is the network of the client.
"""

from __future__ import annotations

import re
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


class Known:
    """Keys that were seen to exist. The oldest are forgotten, to bound the memory."""

    def __init__(self) -> None:
        self._keys: dict[Hashable, None] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._keys

    def add(self, key: Hashable) -> None:
        self._keys[key] = None
        if len(self._keys) > MOST_KNOWN:
            self._keys.pop(next(iter(self._keys)), None)


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
    caller = credential if credential in _credentials else hash(client_network(request))
    return RequestOrigin(storage, caller, address, credential)


def _credential(request: HttpRequest) -> str:
    meta = request.META
    found = meta.get("HTTP_AUTHORIZATION") or meta.get("HTTP_SYMBIO_AUTH_TOKEN")
    if not found and (cookies := meta.get("HTTP_COOKIE")):
        session = _session.search(cookies)
        found = session[1] if session else ""
    return found or ""


def storage_was_found(request: HttpRequest) -> None:
    """Let further requests to this address count for its storage."""
    address = origin_of(request).address
    if address not in _storages:
        _storages.add(address)


def credential_was_accepted(request: HttpRequest) -> None:
    """Let further requests with this credential count for it, and no longer for the network of the client."""
    credential = origin_of(request).credential
    if credential and credential not in _credentials:
        _credentials.add(credential)
