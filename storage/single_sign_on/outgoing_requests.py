"""Requests to providers, with the checks of webhooks (D365, D505): also those that allauth makes."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson
from django.utils.translation import gettext as _

from repository_site.core.database.pool import release_connection
from repository_site.core.fairness.shares import Shares
from repository_site.core.outgoing import OutgoingAnswer, send
from repository_site.core.wording import printable
from storage.models import IdentityProvider

WELL_KNOWN = "/.well-known/openid-configuration"
ADDRESSES = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint", "end_session_endpoint")
# Seconds for which metadata and keys are kept.
KEPT_SECONDS = 600.0
# Seconds until an unknown key id loads the keys again.
RELOAD_SECONDS = 30.0
# Seconds for which a provider that did not answer is not asked for its metadata or keys again.
FAILED_SECONDS = 5.0
MOST_KEYS = 50
# Threads of a process that wait for providers at the same time, and seconds that others wait for their turn. A host
# gets half of them: a provider that is slow must not keep the people of others from signing in.
MOST_WAITING, LONGEST_TURN = 16, 3.0
# Seconds that a thread waits until another one has loaded the keys.
LONGEST_LOAD = 1.0
# Providers whose metadata a process keeps; more are only possible while somebody changes issuers.
MOST_KEPT = 500


class ProviderFailed(Exception):
    """A provider did not answer, or not as the specification asks for. The message is for administrators."""


@dataclass(slots=True)
class _Kept:
    metadata: dict[str, Any]
    until: float
    keys: list[dict[str, Any]] = field(default_factory=list)
    asked_for_keys: float = -math.inf
    loading: threading.Lock = field(default_factory=threading.Lock)


_kept: dict[str, _Kept] = {}
_failed: dict[str, tuple[float, str]] = {}
_turns = Shares(MOST_WAITING)


def forget_providers() -> None:
    """Forget what providers have answered, after a change of one, and in tests."""
    _kept.clear()
    _failed.clear()


def ask(method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> OutgoingAnswer:
    """Send a request to a provider, without a database connection; only a few at the same time."""
    host, end = url.partition("://")[2].partition("/")[0], time.monotonic() + LONGEST_TURN
    release_connection()
    while not _turns.take(host):
        if time.monotonic() > end:
            raise ProviderFailed(_("Too many people are signing in; try again."))
        time.sleep(0.05)
    try:
        return send(method, url, headers, body)
    finally:
        _turns.give_back(host)


def fetch_json(url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    answer = ask("GET", url, {"Accept": "application/json", "User-Agent": "content-repository", **(headers or {})})
    if answer.status != 200:
        reason = answer.error or f"HTTP {answer.status}"
        raise ProviderFailed(f"{printable(url, 200)}: {reason}")
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ProviderFailed(_("%s: expected a JSON object of at most 64 KB.") % printable(url, 200))
    return found


def metadata_of(provider: IdentityProvider) -> dict[str, Any]:
    """Return the discovery document of a provider. Its issuer must be the configured one."""
    return _answers_of(provider).metadata


def _answers_of(provider: IdentityProvider) -> _Kept:
    kept = _kept.get(provider.issuer)
    if kept is None or kept.until < time.monotonic():
        until, reason = _failed.get(provider.issuer, (0.0, ""))
        if until > time.monotonic():
            raise ProviderFailed(reason)
        if len(_kept) + len(_failed) >= MOST_KEPT:
            forget_providers()
        try:
            kept = _Kept(read_metadata(provider.issuer), time.monotonic() + KEPT_SECONDS)
        except ProviderFailed as problem:
            _failed[provider.issuer] = time.monotonic() + FAILED_SECONDS, str(problem)
            raise
        _kept[provider.issuer] = kept
    return kept


def read_metadata(issuer: str) -> dict[str, Any]:
    found = fetch_json(issuer.rstrip("/") + WELL_KNOWN)
    if found.get("issuer") != issuer:
        named = printable(str(found.get("issuer")), 200)
        raise ProviderFailed(_("The discovery document names another issuer: %s.") % named)
    scheme = issuer.partition(":")[0]
    # Without encryption, somebody between here and there could replace the keys, or read the secret.
    usable = {name: url for name, url in found.items() if name not in ADDRESSES or _is_web_address(url, scheme)}
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        if name not in usable:
            raise ProviderFailed(_("The discovery document has no address %s.") % name)
    return usable


def _is_web_address(url: Any, scheme: str) -> bool:
    """Tell whether browsers and the service may use an address of a provider: encrypted, if the issuer is."""
    if not isinstance(url, str) or not url.isprintable():
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"https", scheme} and bool(parts.hostname)


def find_key(provider: IdentityProvider, key_id: str | None, algorithm: str) -> dict[str, Any] | None:
    """Return the public key for a token; loads the keys again for an unknown id, but not too often (D505)."""
    kept = _answers_of(provider)
    found = _choose(kept.keys, key_id, algorithm)
    if found is not None:
        return found
    # The keys of a token that arrives while they are being loaded may be among them.
    if not kept.loading.acquire(timeout=LONGEST_LOAD):
        raise ProviderFailed(_("The keys of the provider are being loaded; try again."))
    try:
        found = _choose(kept.keys, key_id, algorithm)
        pause = RELOAD_SECONDS if kept.keys else FAILED_SECONDS
        if found is None and time.monotonic() - kept.asked_for_keys >= pause:
            kept.asked_for_keys = time.monotonic()
            answer = fetch_json(kept.metadata["jwks_uri"]).get("keys")
            items = answer if isinstance(answer, list) else []
            kept.keys = [each for each in items[:MOST_KEYS] if isinstance(each, dict)]
            found = _choose(kept.keys, key_id, algorithm)
        elif found is None and not kept.keys:
            raise ProviderFailed(_("The provider has not sent its keys; try again."))
        return found
    finally:
        kept.loading.release()


def _choose(keys: list[dict[str, Any]], key_id: str | None, algorithm: str) -> dict[str, Any] | None:
    """Return the key with an id or, for a token without an id, the only key that fits."""
    fitting = [each for each in keys if each.get("use", "sig") == "sig" and each.get("alg", algorithm) == algorithm]
    named = [each for each in fitting if each.get("kid") == key_id] if key_id is not None else fitting
    return named[0] if named and (key_id is not None or len(named) == 1) else None
