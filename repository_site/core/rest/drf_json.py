"""The JSON parser and renderer that DRF's settings name.

They stand apart from `strict_json.py` and `rendering.py`, which domain code imports: the import of DRF takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from repository_site.core.rest.rendering import JSON_TYPE, to_json
from repository_site.core.rest.strict_json import parse_json


class StrictJSONParser(BaseParser):
    media_type = JSON_TYPE

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        return parse_json(stream.read(), most_values=settings.MAX_VALUES)


class JSONRenderer(BaseRenderer):
    """Writes DRF's own `Response`; our views use `answer` directly."""

    media_type = JSON_TYPE
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else to_json(data)
