"""Compresses successful responses of the API for clients that accept gzip (D138).

Other pages stay uncompressed: they contain secrets of forms beside text that an attacker can influence, and the
compressed length would reveal the secrets. Errors stay uncompressed, too. Successes of the API never repeat the
request.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from repository_site.core.middleware import Middleware
from repository_site.core.rest.errors import is_api_path
from repository_site.core.rest.negotiation import weights
from repository_site.core.rest.rendering import CSV_TYPE, HTML_TYPE, JSON_TYPE, SVG_TYPE

GZIP = "gzip"
# The only page below `_api` contains no secret (D142).
TYPES = frozenset({JSON_TYPE, SVG_TYPE, HTML_TYPE, CSV_TYPE})
# The highest level before the time doubles: it compresses 450 KB to 27 KB in 1.7 ms.
LEVEL = 3
# A response that fits into one packet does not arrive sooner if it is smaller.
WORTHWHILE = 1_000
WITH_GZIP_HEADER = zlib.MAX_WBITS | 16
# Suffix inside the quotes of a strong entity tag: compressed bytes are another representation.
MARK = f'-{GZIP}"'
IF_MATCH, IF_NONE_MATCH = "HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH"


class Codings(NamedTuple):
    takes_gzip: bool
    refuses_plain: bool


@lru_cache(maxsize=256)
def codings(header: str) -> Codings:
    """Parse `Accept-Encoding`. Clients that accept neither coding get an uncompressed response, which all can read."""
    given = weights(header)
    others = given.get("*")
    gzip = given.get(GZIP, given.get("x-gzip", others or 0.0))
    plain = given.get("identity", 0.0 if others == 0 else None)
    return Codings(gzip > 0 and (plain is None or gzip >= plain), plain == 0)


class CompressionMiddleware(Middleware):
    """Compresses responses below `_api`. Only the middleware that logs and counts requests is outside of it."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_api_path(request.path_info):
            return self.get_response(request)
        wanted = codings(request.META.get("HTTP_ACCEPT_ENCODING", ""))
        known = _take_marks(request, wanted)
        response = self.get_response(request)
        if response.status_code == 304:
            _add_vary(response)
            if _marked(response.get("ETag", "")) in known:
                _mark_tag(response)
        # Ranges of a file count the bytes of its content.
        elif response.status_code == 200 and response.get("Content-Type") in TYPES and "Accept-Ranges" not in response:
            _add_vary(response)
            if wanted.takes_gzip:
                _compress(request, response, wanted)
        return response


def _take_marks(request: HttpRequest, wanted: Codings) -> str:
    """Remove our suffix from the entity tags of the request, and return the original `If-None-Match`.

    A client that does not accept gzip now cannot use a compressed response of before, so its tags keep the suffix.
    """
    meta = request.META
    if IF_MATCH in meta:
        meta[IF_MATCH] = meta[IF_MATCH].replace(MARK, '"')
    known: str = meta.get(IF_NONE_MATCH, "")
    if known and wanted.takes_gzip:
        meta[IF_NONE_MATCH] = known.replace(MARK, '"')
    return known


def _add_vary(response: HttpResponseBase) -> None:
    before = response.get("Vary")
    response["Vary"] = f"{before}, Accept-Encoding" if before else "Accept-Encoding"


def _marked(tag: str) -> str:
    return tag[:-1] + MARK


def _mark_tag(response: HttpResponseBase) -> None:
    """Add our suffix to a strong entity tag. A weak tag is the same for all codings."""
    tag = response.get("ETag", "")
    if tag.startswith('"'):
        response["ETag"] = _marked(tag)


def _compress(request: HttpRequest, response: HttpResponseBase, wanted: Codings) -> None:
    if isinstance(response, StreamingHttpResponse):
        if request.method != "HEAD":
            response.streaming_content = compress_pieces(response.streaming_content)  # type: ignore[arg-type]  # never an asynchronous one
    elif isinstance(response, HttpResponse) and (len(response.content) >= WORTHWHILE or wanted.refuses_plain):
        response.content = compress(response.content)
        response["Content-Length"] = str(len(response.content))
    else:
        return
    response["Content-Encoding"] = GZIP
    _mark_tag(response)


def compress(body: bytes) -> bytes:
    packer = zlib.compressobj(LEVEL, wbits=WITH_GZIP_HEADER)
    return packer.compress(body) + packer.flush()


def compress_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Compress and flush each piece by itself, so that it is sent at once."""
    packer = zlib.compressobj(LEVEL, wbits=WITH_GZIP_HEADER)
    for piece in pieces:
        yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()
