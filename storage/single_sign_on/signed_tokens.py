"""Checks of tokens that a provider has signed: ID tokens, logout tokens and access tokens (D500, D507, D508)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from storage.models import IdentityProvider
from storage.single_sign_on.outgoing_requests import find_key

# Signatures with a public key only: a token must not choose `none`, or the public key as a shared secret.
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
LONGEST_TOKEN = 16_384
# Seconds by which clocks may differ.
LEEWAY = 60
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


class TokenRefused(Exception):
    """A token is not valid. The message is for the log; callers get no reason."""


def checked_token(provider: IdentityProvider, token: str, audience: str, required: Sequence[str]) -> dict[str, Any]:
    """Return the claims of a token of a provider: signature, issuer, audience and times are right. Raises
    ProviderFailed if its keys cannot be loaded."""
    import jwt

    if len(token) > LONGEST_TOKEN:
        raise TokenRefused("too long")
    try:
        header = jwt.get_unverified_header(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in ALGORITHMS:
            raise TokenRefused(f"algorithm {algorithm!r}")
        found = find_key(provider, key_id if isinstance(key_id, str) else None, algorithm)
        if found is None:
            raise TokenRefused(f"unknown key {key_id!r}")
        claims: dict[str, Any] = jwt.decode(
            token,
            key=jwt.PyJWK(found, algorithm=algorithm).key,
            algorithms=[algorithm],
            issuer=provider.issuer,
            audience=audience,
            leeway=LEEWAY,
            options={"require": ["iss", "aud", *required]},
        )
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError) as problem:
        raise TokenRefused(f"{type(problem).__name__}: {problem}"[:300]) from problem
    return claims


def checked_id_token(provider: IdentityProvider, token: str, nonce: str) -> dict[str, Any]:
    claims = checked_token(provider, token, provider.client_id, ("exp", "iat", "sub"))
    _refuse_other_party(claims, provider.client_id)
    if not nonce or claims.get("nonce") != nonce:
        raise TokenRefused("nonce")
    subject_of(claims)
    return claims


def checked_logout_token(provider: IdentityProvider, token: str) -> dict[str, Any]:
    """Return the claims of a logout token: it names the event, a subject or a session, and has no nonce."""
    claims = checked_token(provider, token, provider.client_id, ("iat", "jti", "events"))
    events = claims["events"]
    if not isinstance(events, dict) or not isinstance(events.get(LOGOUT_EVENT), dict):
        raise TokenRefused("not a logout token")
    if "nonce" in claims:
        raise TokenRefused("an ID token")
    if "sub" in claims:
        subject_of(claims)
    elif not session_of(claims):
        raise TokenRefused("neither subject nor session")
    return claims


def checked_access_token(provider: IdentityProvider, token: str) -> dict[str, Any]:
    """Return the claims of an access token. ID tokens for the same audience are refused: they have a nonce, a hash or a
    type. So are tokens that are bound to a key (`cnf`), which nobody checks here: somebody may have stolen them.
    """
    if not provider.audience:
        raise TokenRefused("no audience is configured")
    claims = checked_token(provider, token, provider.audience, ("exp", "sub"))
    if {"nonce", "at_hash", "c_hash", "events", "cnf"} & claims.keys() or claims.get("typ") == "ID":
        raise TokenRefused("not an access token")
    subject_of(claims)
    return claims


def _refuse_other_party(claims: dict[str, Any], client_id: str) -> None:
    """Refuse a token that was issued to another client (OpenID Connect Core, 3.1.3.7)."""
    audience, party = claims["aud"], claims.get("azp")
    if (isinstance(audience, list) and len(audience) > 1 and party is None) or party not in (None, client_id):
        raise TokenRefused("issued to another client")


def session_of(claims: dict[str, Any]) -> str:
    """Return the id of the session at the provider, as it is stored; empty without one."""
    sid = claims.get("sid")
    return sid if isinstance(sid, str) and len(sid) <= 255 and sid.isprintable() else ""


def subject_of(claims: dict[str, Any]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= 191 or not subject.isprintable():
        raise TokenRefused("subject")
    return subject
