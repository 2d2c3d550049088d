"""Conditional reads: a client that says what it has is told when that is still what there is."""

from __future__ import annotations

import re

from django.http import HttpResponse
from rest_framework.request import Request

from repository_site.problems import Unreadable

ENTITY_TAG = re.compile(r'(?:W/)?"[^"]*"')
ENTITY_TAGS = re.compile(rf"\s*{ENTITY_TAG.pattern}\s*(?:,\s*{ENTITY_TAG.pattern}\s*)*")


def given_tags(header: str, name: str) -> list[str]:
    if not ENTITY_TAGS.fullmatch(header):
        raise Unreadable(f'{name} must be * or a list of tags in quotes, such as "1a2b.3".')
    return ENTITY_TAG.findall(header)


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has what this tag stands for. Proxies may have weakened it; for reading that is no matter."""
    header = request.headers.get("If-None-Match")
    if header is None or request.method not in ("GET", "HEAD"):
        return False
    if header.strip() == "*":
        return True
    return tag in [each.removeprefix("W/") for each in given_tags(header, "If-None-Match")]


def not_modified(tag: str) -> HttpResponse:
    response = HttpResponse(status=304, headers={"ETag": tag})
    del response["Content-Type"]
    return response
