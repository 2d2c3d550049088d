"""Compression by `Accept-Encoding`, and the responses that stay uncompressed: errors and other pages."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest
from django.http import HttpRequest, StreamingHttpResponse
from django.test import RequestFactory

from repository_site.api_document.document import openapi_document
from repository_site.core.rest.compression import (
    WORTHWHILE,
    Codings,
    CompressionMiddleware,
    codings,
    compress,
    compress_pieces,
)
from storage.models import Storage
from tests.api_client import ApiClient

PLAIN, EITHER, ONLY, NEITHER = Codings(False, False), Codings(True, False), Codings(True, True), Codings(False, True)
DOCUMENT = "/acme/open/_api/schema"


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("", PLAIN),
        ("gzip", EITHER),
        (" GZIP ", EITHER),
        ("x-gzip", EITHER),
        ("deflate, br, zstd", PLAIN),
        ("gzip, deflate, br, zstd", EITHER),
        ("br;q=1.0, gzip;q=0.1", EITHER),
        ("gzip;q=0", PLAIN),
        ("gzip; q=0.0, *", PLAIN),
        ("gzip;q=many", PLAIN),
        ("gzip;q=nan", PLAIN),
        ("gzip;q=-1", PLAIN),
        ("*", EITHER),
        ("*;q=0", NEITHER),
        ("*;q=0, gzip", ONLY),
        ("*;q=0, identity", PLAIN),
        ("identity", PLAIN),
        ("gzip, identity", EITHER),
        ("gzip;q=0.5, identity", PLAIN),
        ("gzip;q=0.5, identity;q=0.5", EITHER),
        ("gzip, identity;q=0", ONLY),
        ("identity;q=0", NEITHER),
        ("identity;q=0, br", NEITHER),
        (",;,q=1", PLAIN),
    ],
)
def test_codings_of_a_client(header: str, wanted: Codings) -> None:
    assert codings(header) == wanted


def test_each_piece_can_be_read_when_it_comes() -> None:
    pieces = [b'{"count":2,"elements":[', b'{"id":1}', b',{"id":2}', b"]}"]
    reader = zlib.decompressobj(wbits=31)
    packed = list(compress_pieces(pieces))
    assert [reader.decompress(each) for each in packed] == [*pieces, b""]
    assert (reader.eof, gzip.decompress(b"".join(packed))) == (True, b"".join(pieces))


def test_the_headers_of_a_stream_come_without_a_byte() -> None:
    def answer(request: HttpRequest) -> StreamingHttpResponse:
        return StreamingHttpResponse(iter(()), content_type="application/json")

    asked = RequestFactory().head(DOCUMENT, headers={"Accept-Encoding": "gzip"})
    response: Any = CompressionMiddleware(answer)(asked)
    assert (response["Content-Encoding"], list(response)) == ("gzip", [])


def test_the_same_bytes_are_always_compressed_to_the_same() -> None:
    """A strong entity tag requires it."""
    assert compress(b"x" * 5000) == compress(b"x" * 5000)
    assert gzip.decompress(compress(b"x" * 5000)) == b"x" * 5000


@pytest.mark.django_db
def test_an_answer_that_belongs_to_no_storage_s_content(api: ApiClient, open_storage: Storage) -> None:
    plain = api.get(DOCUMENT)
    packed = api.get(DOCUMENT, headers={"Accept-Encoding": "gzip"})
    assert json.loads(gzip.decompress(packed.content)) == openapi_document() == plain.json()
    assert (packed["Content-Encoding"], packed["Content-Length"]) == ("gzip", str(len(packed.content)))
    assert len(packed.content) * 8 < len(plain.content)
    assert (plain["Vary"], packed["Vary"], "Content-Encoding" in plain) == ("Accept-Encoding", "Accept-Encoding", False)


@pytest.mark.django_db
@pytest.mark.parametrize("coding", ["gzip", "gzip, identity;q=0"])
def test_errors_are_left_as_they_are(api: ApiClient, open_storage: Storage, coding: str) -> None:
    """Clients must be able to read errors, and errors repeat parts of the request."""
    address = "/acme/open/_api/rest/facets/" + "x" * (2 * WORTHWHILE)
    refused = api.get(f"{address}/views", headers={"Accept-Encoding": coding})
    assert (refused.status_code, refused.json()["type"]) == (404, "error")
    assert {"Content-Encoding", "Vary"}.isdisjoint(refused.headers)


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/admin/login/", "/acme/open/admin/login/", "/healthz"])
def test_pages_are_left_as_they_are(api: ApiClient, open_storage: Storage, address: str) -> None:
    """The length of a compressed page would reveal the secrets of its forms."""
    page = api.get(address, headers={"Accept-Encoding": "gzip"})
    assert (page.status_code, "Content-Encoding" in page) == (200, False)
    assert "Accept-Encoding" not in page.get("Vary", "")
