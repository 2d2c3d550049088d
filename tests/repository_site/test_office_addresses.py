"""Every address of a storage's back office is closed to staff of other storages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from repository_site.management.commands.demo import DEMO_DATA
from storage.models import Storage, StorageMembership
from storage.options import Role
from tests.conftest import StorageMaker
from tests.factories import StaffAccountFactory
from tests.scale import only_at_full_scale
from tests.storage.office import member, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.long]
LINK = re.compile(r'href="(/demo/showcase/admin/(?!logout|login)[^"#]*)"')
# Signing in and out shows nothing of a storage.
OPEN_TO_ALL = {"login", "logout"}
SAMPLES: dict[str, str] = {
    "app_label": "elements",
    "content_type_id": "1",
    "lcid": "1033",
    "facet": "processes",
    "model_name": "element",
}


def addresses(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the path of each pattern, with sample values for its parts."""
    for each in patterns:
        found, parts = each.pattern.regex.pattern, each.pattern.converters
        if isinstance(each, URLResolver):
            yield from addresses(each.url_patterns, prefix + str(each.pattern))
        elif isinstance(each, URLPattern):
            path = str(each.pattern)
            for name in parts:
                kind = type(parts[name]).__name__
                sample = SAMPLES.get(name, "1" if kind == "IntConverter" else "00000000-0000-4000-8000-000000000001")
                path = path.replace(f"<{kind_word(kind)}:{name}>", sample).replace(f"<{name}>", sample)
            if "(?P" in found and not parts:
                path = "elements/"
            yield each.name or "", prefix + path


def kind_word(converter: str) -> str:
    return converter.removesuffix("Converter").lower().replace("string", "str")


def office_addresses() -> list[tuple[str, str]]:
    found = list(addresses(get_resolver("repository_site.storage_urls").url_patterns))
    return [(name, path) for name, path in found if path.startswith("admin/")]


def test_the_walk_knows_every_part_of_an_address() -> None:
    assert [path for _, path in office_addresses() if "<" in path or "(" in path] == []
    assert len(office_addresses()) > 20


@pytest.mark.parametrize("method", ["get", "post"])
def test_staff_of_another_storage_are_turned_away_everywhere(
    storage: Storage, other_storage: Storage, method: str
) -> None:
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=other_storage, roles=[role.value for role in Role])
    client = Client()
    client.force_login(account)
    answers = {
        path: getattr(client, method)(f"/acme/handbook/{path}").status_code
        for name, path in office_addresses()
        if name not in OPEN_TO_ALL
    }
    assert {path: status for path, status in answers.items() if status not in (403, 404)} == {}


@pytest.mark.long
@only_at_full_scale
def test_no_page_that_a_member_finds_is_open_to_staff_of_another_storage(
    filled_storage: StorageMaker, other_storage: Storage
) -> None:
    """Follow every link of every list in the back office."""
    account = StaffAccountFactory.create()
    StorageMembership.objects.create(account=account, storage=other_storage, roles=[role.value for role in Role])
    stranger = signed_in(account)
    with filled_storage(DEMO_DATA, collection="demo", key="showcase", template="standard") as storage:
        home = member(storage, *Role)
        pages = [home.get(f"/demo/showcase/{path}") for _, path in office_addresses() if path.endswith("/")]
        found = {link for page in pages if page.status_code == 200 for link in LINK.findall(page.content.decode())}
        assert len(found) > 200
        answers = {link: stranger.get(link.replace("&amp;", "&")).status_code for link in sorted(found)}
    assert {link: status for link, status in answers.items() if status not in (403, 404)} == {}


def test_anonymous_visitors_are_asked_to_sign_in_everywhere(storage: Storage) -> None:
    for name, path in office_addresses():
        if name not in OPEN_TO_ALL:
            response = Client().get(f"/acme/handbook/{path}")
            assert (response.status_code, response["Location"].split("?")[0]) == (302, "/acme/handbook/admin/login/")
