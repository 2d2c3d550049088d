"""The story of a sub process (see `story.py`), told to the test client; `test_release_under_load.py` tells it to a server."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils import timezone

from storage.access.tokens import issue_token
from storage.models import Storage
from storage.options import Role
from tests.api_client import ApiClient
from tests.factories import storage_context
from tests.release.house import ID, PEOPLE
from tests.release.log_check import check_lifecycles
from tests.release.story import Story, tell
from tests.release.witness import Reply, Send, WireCaller

pytestmark = [pytest.mark.django_db, pytest.mark.long]


def send_by(client: Client) -> Send:
    def send(method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        response: Any = client.generic(method, path, body, "application/json", headers=headers)
        content = b"".join(response) if response.streaming else response.content
        return Reply.of(response.status_code, content, response.headers.get("ETag"))

    return send


def test_the_life_of_a_sub_process(house: Storage, api: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The story begins weeks ago, late in the evening, when it is the next day in the time zone of the storage."""
    evening, now, moments = (timezone.now() - timedelta(days=30)).replace(hour=23, minute=30), timezone.now, count()
    monkeypatch.setattr(timezone, "now", lambda: evening + timedelta(milliseconds=next(moments)))
    rival = Storage.objects.get(collection__key="rival", key="house")

    def person(client: Client, storage: Storage, *roles: Role, name: str | None = None) -> WireCaller:
        issued = issue_token(storage_context(storage), "story", roles, user_id=UUID(ID[name]) if name else None)
        key = f"{storage.collection.key}/{storage.key}"
        return WireCaller(send_by(client), issued.value, f"token:{issued.token.id}", key)

    people = {name: person(api, house, *roles, name=name) for name, roles in PEOPLE.items() if name != "eve"}
    # These callers only read, and their responses are compared as bytes, without validation.
    people |= {role.value: person(Client(), house, role) for role in (Role.ANALYZER, Role.VIEWER)}
    people["rival"] = person(Client(), rival, Role.ANALYZER)
    story = Story(people, "http://testserver/acme/house/_api")
    days = {today()}
    tell(story, lambda: monkeypatch.setattr(timezone, "now", now))
    days.add(today())
    first = story.read(story.first)["attributes"]
    assert first["validFrom"]["127"] == f"{evening.date() + timedelta(days=1)}T00:00:00"
    assert first["validUntil"]["127"] in {f"{day}T00:00:00" for day in days}
    for storage in (house, rival):
        check_lifecycles(storage)


def today() -> date:
    return datetime.now(ZoneInfo("Europe/Berlin")).date()
