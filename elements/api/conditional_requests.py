"""The headers of conditional requests: what a client says it has, and the answer that this is still what there is."""

from __future__ import annotations

import re

from django.http import HttpResponse
from rest_framework.request import Request

from repository_site.core.problems import Unreadable

ENTITY_TAG = re.compile(r'(?:W/)?"[^"]*"')
ENTITY_TAGS = re.compile(rf"\s*{ENTITY_TAG.pattern}\s*(?:,\s*{ENTITY_TAG.pattern}\s*)*")
ANY = "*"
WEAK = "W/"


def given_tags(header: str, name: str) -> list[str]:
    if not ENTITY_TAGS.fullmatch(header):
        raise Unreadable(f'{name} must be * or a list of tags in quotes, such as "1a2b.3".')
    return ENTITY_TAG.findall(header)


def known_tags(request: Request) -> str | None:
    """What a reading client says it has. A POST that reads does so for clients that know no better: it has no 304."""
    return request.headers.get("If-None-Match") if request.method in ("GET", "HEAD") else None


def asks_for_any(request: Request) -> bool:
    """Whether the client wants nothing of what there is, whatever it is."""
    header = known_tags(request)
    return header is not None and header.strip() == ANY


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has what this tag stands for. Proxies may have weakened it; for reading that is no matter."""
    header = known_tags(request)
    if header is None or header.strip() == ANY:
        return False
    return tag.removeprefix(WEAK) in [each.removeprefix(WEAK) for each in given_tags(header, "If-None-Match")]


def not_modified(tag: str) -> HttpResponse:
    response = HttpResponse(status=304, headers={"ETag": tag})
    del response["Content-Type"]
    return response
