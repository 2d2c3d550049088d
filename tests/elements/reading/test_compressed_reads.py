"""Elements for clients that take gzip: the same content in other bytes, under other tags where these are strong."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from elements.api import reading_viewset
from elements.reading.lists.streams import Stream
from repository_site.core.fairness import admission
from repository_site.core.fairness.gate import Ticket
from repository_site.core.fairness.presence import Presence
from repository_site.core.problems import TooManyRequests
from repository_site.core.rest.compression import WORTHWHILE
from storage.models import Storage
from tests.api_client import ApiClient
from tests.elements.conditional_reads import ORDER, PROCESSES, READS, headers_of
from tests.elements.handbook import ID
from tests.tags import is_version_tag

pytestmark = pytest.mark.django_db
GZIP = {"Accept-Encoding": "gzip, deflate"}
FORCED = {"Accept-Encoding": "gzip, identity;q=0"}
PAGE = f"{PROCESSES}?$pageSize=3"


def marked(tag: str) -> str:
    return tag if tag.startswith("W/") else f'{tag[:-1]}-gzip"'


def as_compressed(plain: Any, packed: Any) -> dict[str, str]:
    """The headers of an answer when it is compressed."""
    own = {"Content-Encoding": "gzip", "Content-Length": str(len(packed.content)), "ETag": marked(plain["ETag"])}
    return {**headers_of(plain), **own}


@pytest.mark.long
@pytest.mark.parametrize("address", READS)
def test_every_read_in_fewer_bytes(api: ApiClient, architect: str, address: str) -> None:
    plain = api.get(address, token=architect)
    assert plain["Vary"] == "Accept-Encoding"
    packed = api.get(address, token=architect, headers=GZIP)
    if len(plain.content) < WORTHWHILE:
        assert (packed.content, headers_of(packed)) == (plain.content, headers_of(plain))
        packed = api.get(address, token=architect, headers=FORCED)
    assert gzip.decompress(packed.content) == plain.content
    assert headers_of(packed) == as_compressed(plain, packed)
    given = {**GZIP, **({} if len(plain.content) >= WORTHWHILE else FORCED)}
    head = api.head(address, token=architect, headers=given)
    assert (head.content, headers_of(head)) == (b"", headers_of(packed))


def test_from_which_size_on(api: ApiClient, architect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(api.get(ORDER, token=architect).content)
    for worthwhile, is_packed in ((size, True), (size + 1, False)):
        monkeypatch.setattr("repository_site.core.rest.compression.WORTHWHILE", worthwhile)
        assert ("Content-Encoding" in api.get(ORDER, token=architect, headers=GZIP)) == is_packed


@pytest.mark.parametrize("address", [PAGE, ORDER, PROCESSES])
def test_a_client_is_told_which_of_its_answers_is_still_right(api: ApiClient, architect: str, address: str) -> None:
    plain = api.get(address, token=architect)["ETag"]
    packed = api.get(address, token=architect, headers=GZIP)["ETag"]

    def again(given: str, **headers: str) -> tuple[int, str, str]:
        response = api.get(address, token=architect, headers={"If-None-Match": given, **headers})
        assert ("Content-Encoding" in response) == (response.status_code == 200 and bool(headers))
        return response.status_code, response["ETag"], response["Vary"]

    vary = "Accept-Encoding"
    assert again(packed, **GZIP) == (304, packed, vary)
    assert again(f'"other", W/{packed.removeprefix("W/")}', **GZIP) == (304, packed, vary)
    assert again(plain, **GZIP) == (304, plain, vary)
    assert again(plain) == (304, plain, vary)
    # The client cannot use a response it cannot decode; a weak entity tag does not identify bytes.
    assert again(packed) == (200 if packed != plain else 304, plain, vary)
    assert again('"other-gzip"', **GZIP) == (200, packed, vary)


def test_what_was_read_compressed_serves_for_writing(api: ApiClient, architect: str) -> None:
    def change(text: str, tag: str, **headers: str) -> Any:
        body = {"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": text}}}]}
        return api.post(PROCESSES, body, "application/json", token=architect, headers={"If-Match": tag, **headers})

    read = api.get(ORDER, token=architect, headers=GZIP)["ETag"]
    assert read.endswith('-gzip"')
    first = change("a", read, **GZIP)
    assert (first.status_code, first["Content-Encoding"]) == (200, "gzip")
    assert json.loads(gzip.decompress(first.content))["elements"][0]["attributes"]["scope"] == {"1033": "a"}
    assert is_version_tag(first["ETag"].replace("-gzip", ""), ID["order-3"])
    assert first["ETag"].endswith('-gzip"')
    assert change("no", read).status_code == 412
    assert change("b", f'"x", {first["ETag"]}').status_code == 200


def test_a_kept_answer_is_given_in_the_bytes_that_are_asked_for(api: ApiClient, architect: str) -> None:
    body = {"elements": [{"id": ID["order"], "attributes": {"scope": {"1033": "a"}}}]}

    def send(**headers: str) -> Any:
        headers["Idempotency-Key"] = "once"
        return api.post(PROCESSES, body, "application/json", token=architect, headers=headers)

    first, plain, again = send(**GZIP), send(), send(**GZIP)
    assert gzip.decompress(first.content) == plain.content
    assert headers_of(first) == as_compressed(plain, first)
    assert (again.content, headers_of(again)) == (first.content, headers_of(first))


def test_a_stream(api: ApiClient, architect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = api.get(PROCESSES, token=architect)
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    streamed = api.get(PROCESSES, token=architect, headers=GZIP)
    assert hasattr(streamed, "was_streamed")
    assert gzip.decompress(streamed.content) == whole.content
    headers = as_compressed(whole, streamed)
    del headers["Content-Length"]
    assert headers_of(streamed) == headers
    head = api.head(PROCESSES, token=architect, headers=GZIP)
    assert (head.content, headers_of(head)) == (b"", headers)


def test_a_client_that_goes_away_gives_its_place_back(
    handbook: Storage, architect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_viewset, "BATCH", 1)
    client = Client(headers={"Authorization": f"Bearer {architect}", **GZIP})
    assert client.get(f"{PROCESSES}?$pageSize=1").status_code == 200
    monkeypatch.setattr(admission.gate, "presence", Presence())
    ticket = Ticket(("acme/handbook", 1))
    taken = [Stream(iter(()), ticket) for _ in range(settings.POOL_SIZE // 2 - 2)]
    begun: Any = client.get(PROCESSES)
    next(iter(begun))
    with pytest.raises(TooManyRequests):
        Stream(iter(()), ticket)
    begun.close()
    for each in (*taken, Stream(iter(()), ticket)):
        each.close()
