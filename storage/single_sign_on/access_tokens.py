"""Callers of the API with an access token of a provider (D508). Reads only; the token itself carries the claims."""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256
from typing import Any

import orjson
import structlog
from django.db.models import Q

from repository_site.core.problems import Busy, Forbidden, Unauthenticated
from storage.access.callers import Caller, CallerKind, find_user
from storage.access.staff import LABEL as STAFF
from storage.models import IdentityProvider
from storage.options import Role
from storage.single_sign_on.directory import with_directory
from storage.single_sign_on.linking import find_account, free_user_of, person_of, refuses_account, rules_of
from storage.single_sign_on.outgoing_requests import ProviderFailed
from storage.single_sign_on.rules import grants_of
from storage.single_sign_on.signed_tokens import LONGEST_TOKEN, TokenRefused, checked_access_token
from storage.tenancy.contexts import Context

# A JSON object in base64, as every JWT begins. Our own tokens begin with `crt_`.
PREFIX = "eyJ"
LABEL = "subject:"
LONGEST_LABEL = 200
REFUSED = "The token is unknown here, expired or revoked."
AWAY = "The identity provider has not sent the keys to check this token. Try again shortly."
log = structlog.get_logger("sign-on")


def is_signed_token(value: str) -> bool:
    """Tell whether a credential looks like a signed token. Only such a credential costs a look-up."""
    return value.startswith(PREFIX) and value.count(".") == 2


def recognise_access_token(value: str, context: Context) -> Caller:
    """Return the caller of an access token in a storage; raise Unauthenticated for any other context or token."""
    storage = context.storage
    if storage is None:
        raise Unauthenticated(REFUSED)
    for provider in _providers(_issuer(value), context):
        try:
            claims = checked_access_token(provider, value)
        except TokenRefused as refused:
            log.info("access token refused", provider=provider.key, problem=str(refused))
            continue
        except ProviderFailed as failed:
            log.warning("provider did not answer", provider=provider.key, problem=str(failed))
            raise Busy(AWAY, retry_after=5) from failed
        return _caller(provider, claims, context)
    raise Unauthenticated(REFUSED)


def _providers(issuer: str, context: Context) -> list[IdentityProvider]:
    if not issuer or context.collection is None:
        return []
    reach = Q(collection=None) | Q(collection=context.collection)
    found = IdentityProvider.objects.filter(reach, issuer=issuer, accepts_tokens=True, is_enabled=True)
    return list(found.order_by("key")[:10])


def _issuer(value: str) -> str:
    """Return the issuer that a token names, which chooses the providers whose keys can verify it."""
    if len(value) > LONGEST_TOKEN:
        return ""
    part = value.split(".")[1]
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, binascii.Error):
        return ""
    issuer = claims.get("iss") if isinstance(claims, dict) else None
    return issuer if isinstance(issuer, str) and issuer.isprintable() else ""


def _caller(provider: IdentityProvider, claims: dict[str, Any], context: Context) -> Caller:
    storage = context.storage
    assert storage is not None  # noqa: S101  checked above
    person = person_of(provider, claims)
    try:
        account = find_account(provider, person)
    except Forbidden:
        raise Unauthenticated(REFUSED) from None
    if account is not None and refuses_account(provider, account):
        raise Unauthenticated(REFUSED)
    claims_known = with_directory(provider, account, person.claims)
    grant = grants_of(rules_of(provider, storage), claims_known).get(storage.pk)
    roles: frozenset[Role] = grant.roles if grant else frozenset()
    membership = account.memberships.filter(storage=storage).first() if account else None
    user = membership.user_id if membership else (free_user_of(storage, grant) if grant else None)
    if user is not None:
        held = find_user(storage, user)
        if held is None or held.is_inactive:
            raise Unauthenticated(REFUSED)
        roles &= held.roles
    kind = CallerKind.STAFF if account else CallerKind.TOKEN
    label = f"{STAFF}{account.pk}" if account else _label(provider, person.subject)
    return Caller(kind, label, roles, user, label, is_lasting=False)


def _label(provider: IdentityProvider, subject: str) -> str:
    """Return the name of a subject without an account. A cut one could be that of another subject."""
    label = f"{LABEL}{provider.key}:{subject}"
    return label if len(label) <= LONGEST_LABEL else f"{LABEL}{provider.key}:{sha256(subject.encode()).hexdigest()}"
