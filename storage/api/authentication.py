"""Finds the caller of a request (D4): by API token, by access token of a provider (D508), by session, or anonymous."""

from __future__ import annotations

from django.conf import settings
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request

from repository_site.core.problems import Unauthenticated
from storage.access.callers import Caller, anonymous_reader
from storage.access.staff import staff_caller
from storage.access.tokens import recognise_token, token_digest
from storage.models import AnonymousAccess
from storage.single_sign_on.access_tokens import is_signed_token, recognise_access_token
from storage.tenancy.contexts import Context

TOKEN_NAME = "symbio-auth-token"
TOKEN_HEADER = "HTTP_SYMBIO_AUTH_TOKEN"


def authenticate(request: Request, context: Context) -> Caller:
    value = presented_token(request, context)
    if value is not None and is_signed_token(value):
        return recognise_access_token(value, context)
    if value is not None:
        return recognise_token(value, context, request.META.get("REMOTE_ADDR", ""))
    caller = _staff_caller(request, context)
    if caller is not None:
        return caller
    if context.storage is not None and context.storage.anonymous_access == AnonymousAccess.READ:
        return anonymous_reader(request._request)
    raise Unauthenticated("This needs a credential. Send an API token: Authorization: Bearer <token>.")


def digest_in_header(request: Request) -> bytes:
    """Return the digest of the token in a header, to look it up together with the context; empty without a token."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    value = header.partition(" ")[2] if header[:7].lower() == "bearer " else request.META.get(TOKEN_HEADER, "")
    # Tokens that were last used before a change of the secret key are looked up again later.
    return token_digest(value.strip(), settings.SECRET_KEY) if value.strip() else b""


def presented_token(request: Request, context: Context) -> str | None:
    """Return the token of a request, if any. A credential of another kind is invalid."""
    if header := request.META.get("HTTP_AUTHORIZATION", ""):
        scheme, _, value = header.partition(" ")
        if scheme.lower() != "bearer" or not value.strip():
            raise Unauthenticated("Authorization: expected Bearer <token>.")
        return str(value.strip())
    if header := request.META.get(TOKEN_HEADER, ""):
        return str(header.strip())
    if context.storage is not None and context.storage.token_in_query:
        return request.GET.get(TOKEN_NAME) or None
    return None


def carries_token(request: Request, context: Context) -> bool:
    """Return whether a request has a token, valid or not."""
    try:
        return presented_token(request, context) is not None
    except Unauthenticated:
        return True


def _staff_caller(request: Request, context: Context) -> Caller | None:
    """Return the signed-in staff member, if they have access to this storage; otherwise the session is ignored."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return None
    caller = staff_caller(request._request.user, context.storage)
    if caller is None:
        return None
    # Without this check a foreign page could write with the session of its visitor. Looking for the CSRF token in a
    # form consumes the stream, so read the body first.
    request._request.body  # noqa: B018  Django keeps it
    SessionAuthentication().enforce_csrf(request._request)  # type: ignore[arg-type]  # Django's request is sufficient
    return caller
