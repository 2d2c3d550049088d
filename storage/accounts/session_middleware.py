"""Django's middleware for sessions, left out for API requests with a token (D610).

A token in a header is the only credential of its request, whatever cookies it has. Such requests need neither session,
account nor messages.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from repository_site.core.fairness.origin import token_in_headers
from repository_site.core.rest.errors import is_api_path

ANONYMOUS = AnonymousUser()


def has_session(request: HttpRequest) -> bool:
    """Return whether a request can have a session. The first call decides, because middleware changes the path."""
    known: bool | None = request.__dict__.get("has_session")
    if known is None:
        known = not (token_in_headers(request) and is_api_path(request.path_info))
        request.has_session = known  # type: ignore[attr-defined]  # read above
    return known


class _WithSession:
    """Calls the middleware only if the request can have a session."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        step = super().__call__ if has_session(request) else self.get_response  # type: ignore[misc]  # of Django's class
        response: HttpResponseBase = step(request)
        return response


class OptionalSessions(_WithSession, SessionMiddleware):
    pass


class OptionalAccounts(_WithSession, AuthenticationMiddleware):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not has_session(request):
            request.user = ANONYMOUS
        return super().__call__(request)


class OptionalMessages(_WithSession, MessageMiddleware):
    pass
