"""What a client accepts: we speak JSON; parameters of a media type (charset, odata) are nobody's obstacle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from repository_site.rest.rendering import JSON_TYPE

WELCOME = frozenset({JSON_TYPE, "application/*", "*/*"})


class JSONNegotiation(BaseContentNegotiation):
    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        media_type = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        return next(iter(renderers)), JSON_TYPE


def accepts_json(header: str) -> bool:
    """The most specific range decides, as RFC 9110 says: `application/json;q=0, */*` refuses JSON."""
    if not header.strip():
        return True
    weights: dict[str, float] = {}
    for part in header.split(","):
        media_range, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if media_range in WELCOME:
            weights[media_range] = max(weights.get(media_range, 0.0), _weight(parameters))
    for media_range in (JSON_TYPE, "application/*", "*/*"):
        if media_range in weights:
            return weights[media_range] > 0
    return False


def _weight(parameters: Sequence[Any]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
