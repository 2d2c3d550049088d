"""From a request to its caller (D4): token, back-office session, or anonymous where the storage allows it."""

from __future__ import annotations

from django.conf import settings
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request

from repository_site.core.problems import Unauthenticated
from storage.access.callers import Caller, anonymous_reader
from storage.access.staff import staff_caller
from storage.access.tokens import present_digest, recognise_token
from storage.models import AnonymousAccess
from storage.tenancy.contexts import Context

TOKEN_NAME = "symbio-auth-token"


def authenticate(request: Request, context: Context) -> Caller:
    value = presented_token(request, context)
    if value is not None:
        return recognise_token(value, context)
    caller = _staff_caller(request, context)
    if caller is not None:
        return caller
    if context.storage is not None and context.storage.anonymous_access == AnonymousAccess.READ:
        return anonymous_reader(request._request)
    raise Unauthenticated("This needs a credential: send an API token as Authorization: Bearer <token>.")


def digest_in_header(request: Request) -> bytes:
    """Of the token that a header seems to hold, so that it can be looked for early; empty when there is none."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    value = header.partition(" ")[2] if header[:7].lower() == "bearer " else request.headers.get(TOKEN_NAME, "")
    return present_digest(value.strip()) if value.strip() else b""


def presented_token(request: Request, context: Context) -> str | None:
    """The token a request carries, if any. A credential of another kind is a credential that does not hold."""
    if header := request.META.get("HTTP_AUTHORIZATION", ""):
        scheme, _, value = header.partition(" ")
        if scheme.lower() != "bearer" or not value.strip():
            raise Unauthenticated("Authorization must be Bearer <token>.")
        return str(value.strip())
    if header := request.headers.get(TOKEN_NAME, ""):
        return header.strip()
    if context.storage is not None and context.storage.token_in_query:
        return request.GET.get(TOKEN_NAME) or None
    return None


def carries_token(request: Request, context: Context) -> bool:
    """Whether there is one at all, be it one that holds or not."""
    try:
        return presented_token(request, context) is not None
    except Unauthenticated:
        return True


def _staff_caller(request: Request, context: Context) -> Caller | None:
    """Staff signed in to the back office, where they belong; elsewhere they count as nobody in particular."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return None
    caller = staff_caller(request._request.user, context.storage)
    if caller is None:
        return None
    # A foreign page could otherwise make the browser write with the session of who looks at it. Looking for the token
    # of a form uses the body up, unless it has been read as a whole before.
    request._request.body  # noqa: B018  read for what it keeps
    SessionAuthentication().enforce_csrf(request._request)  # type: ignore[arg-type]  # that of Django will do
    return caller
