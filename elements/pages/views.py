"""The pages for readers: parse, call, render."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from storage.pages import caller_of, in_scope


@in_scope
def start(request: HttpRequest) -> HttpResponse:
    caller_of(request)
    return HttpResponse("")
