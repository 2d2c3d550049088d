"""Session middleware that passes API requests with a token directly to their view (D610).

A token in a header is the only credential of its request, whatever cookies it has. Such requests need no session, no
account and no messages.
"""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation

from repository_site.core.fairness.origin import token_in_headers
from repository_site.core.middleware import GetResponse
from repository_site.core.rest.errors import is_api_path

ANONYMOUS = AnonymousUser()


class OptionalSessions(SessionMiddleware):
    """Skips itself and all middleware after it for API requests with a token."""

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        self.view: GetResponse = get_response
        # Django wraps each middleware in a function.
        while following := getattr(getattr(self.view, "__wrapped__", None), "get_response", None):
            self.view = following

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not (token_in_headers(request) and is_api_path(request.path_info)):
            return cast("HttpResponseBase", super().__call__(request))
        # Raises an error for a host that is not allowed.
        request.get_host()
        request.user = ANONYMOUS
        return self._finish(self._in_english(request))

    def _in_english(self, request: HttpRequest) -> HttpResponseBase:
        # A thread has the language of the settings, except while it serves a page.
        if translation.get_language() == settings.LANGUAGE_CODE:
            return self.view(request)
        with translation.override(settings.LANGUAGE_CODE):
            return self.view(request)

    def _finish(self, response: HttpResponseBase) -> HttpResponseBase:
        """Set the headers that the skipped middleware would set."""
        headers = response.headers
        headers.setdefault("X-Frame-Options", settings.X_FRAME_OPTIONS)
        if not response.streaming:
            headers.setdefault("Content-Length", str(len(response.content)))  # type: ignore[attr-defined]  # not streamed
        return response
