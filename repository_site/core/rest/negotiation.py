"""Content negotiation: which media types a client accepts. Parameters of a media type (charset, odata) are ignored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from repository_site.core.rest.rendering import JSON_TYPE


class JSONNegotiation(BaseContentNegotiation):
    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return next(iter(renderers)), JSON_TYPE


def accepts(header: str, media_types: Sequence[str]) -> bool:
    """Return whether a client accepts the first media type, or names one of the others.

    The most specific range decides (RFC 9110): `application/json;q=0, */*` refuses JSON.
    """
    if not header.strip():
        return True
    given = weights(header)
    first, *others = media_types
    ranges = (first, f"{first.partition('/')[0]}/*", "*/*")
    decisive = next((given[each] for each in ranges if each in given), 0.0)
    return decisive > 0 or any(given.get(each, 0.0) > 0 for each in others)


def weights(header: str) -> dict[str, float]:
    """Return the weight of each name in the header; of a repeated name, the highest."""
    found: dict[str, float] = {}
    for part in header.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        found[name] = max(found.get(name, 0.0), _weight(parameters))
    return found


def _weight(parameters: Sequence[Any]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
