"""Conditional requests: the entity tags of `If-Match` and `If-None-Match`, and the response 304 (Not Modified)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from repository_site.core.problems import Unreadable

ENTITY_TAG = re.compile(r'(?:W/)?"[^"]*"')
ENTITY_TAGS = re.compile(rf"\s*{ENTITY_TAG.pattern}\s*(?:,\s*{ENTITY_TAG.pattern}\s*)*")
ANY = "*"
WEAK = "W/"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A validated read. `answer` makes the response, unless the client already has it."""

    answer: Callable[[], HttpResponseBase]
    version_tag: str = ""
    """Entity tag of the version, if the response is about one."""
    is_whole: bool = False
    """Whether it is a list without paging, whose entity tag is weak (D137)."""


def given_tags(header: str, name: str) -> list[str]:
    if not ENTITY_TAGS.fullmatch(header):
        raise Unreadable(f'{name}: expected * or a list of entity tags in quotes, such as "1a2b.3".')
    return ENTITY_TAG.findall(header)


def known_tags(request: Request) -> str | None:
    """Return `If-None-Match` of a GET or HEAD. A read by POST is never answered with 304."""
    return request.META.get("HTTP_IF_NONE_MATCH") if request.method in ("GET", "HEAD") else None


def asks_for_any(request: Request) -> bool:
    """Return whether the request says `If-None-Match: *`, which excludes every existing resource."""
    header = known_tags(request)
    return header is not None and header.strip() == ANY


def is_known(request: Request, tag: str) -> bool:
    """Return whether the client has the response with this entity tag. Proxies may have weakened the tag."""
    header = known_tags(request)
    if header is None or header.strip() == ANY:
        return False
    return tag.removeprefix(WEAK) in [each.removeprefix(WEAK) for each in given_tags(header, "If-None-Match")]


def not_modified(tag: str) -> HttpResponse:
    return without_body(HttpResponse(status=304, headers={"ETag": tag}))


def without_body(response: HttpResponse) -> HttpResponse:
    del response["Content-Type"]
    return response
