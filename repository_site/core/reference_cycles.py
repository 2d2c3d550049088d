"""Breaks the reference cycles of a request at its end (D211).

Objects in a cycle stay in memory until the garbage collector finds them, and it stops all threads while it searches.
"""

from __future__ import annotations

from functools import partial

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from repository_site.core.middleware import Middleware

# Attributes that Django's middleware sets to objects that refer to the request.
REFER_TO_REQUEST = ("user", "auser", "_messages")


class ReferenceCycleMiddleware(Middleware):
    """Works when the response is closed, because a streamed response may use the request until then."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        closers = response._resource_closers  # type: ignore[attr-defined]  # the stubs lack it
        closers.append(partial(_break_cycles, request))
        return response


def _break_cycles(request: HttpRequest) -> None:
    for name in REFER_TO_REQUEST:
        request.__dict__.pop(name, None)
