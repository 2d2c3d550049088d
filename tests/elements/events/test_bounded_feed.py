"""Pages of the change feed have a limited size (D433)."""

from __future__ import annotations

import pytest
from pytest_django import Settings

from storage.events.numbering import number_events
from storage.events.reading import read_events
from storage.events.recording import record_configuration
from storage.models import Storage
from storage.options import Role
from storage.tenancy.scope import tenant_scope
from tests.api_client import ApiClient
from tests.elements.feed import Feed
from tests.factories import issued_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def large_events(limited: Storage, settings: Settings) -> int:
    """Record three events, of which two are as large as a page may be, and return the number of the event before."""
    settings.RESPONSE_BYTES = 8_000
    last = number_events(limited)
    with tenant_scope(limited):
        for each in ("x" * 600, "y" * 600, "z"):
            record_configuration(limited, [each])
    return last


def test_a_page_of_large_events_is_short_and_leads_further(api: ApiClient, limited: Storage, large_events: int) -> None:
    feed = Feed(api, "acme/limited", issued_token(limited, Role.ADMINISTRATOR), "type=configuration.changed")
    sizes = []
    while True:
        page = feed.page("$pageSize=1000")
        if page["next"] == feed.cursor:
            break
        feed.cursor = page["next"]
        sizes.append([each["data"]["changes"][0][0] for each in page["values"]])
    assert [each for each in sizes if each] == [["x", "y"], ["z"]]


def test_readers_inside_the_service_know_whether_there_is_more(limited: Storage, large_events: int) -> None:
    found, is_full = read_events(limited, large_events, 10)
    assert ([each.number - large_events for each in found], is_full) == ([1, 2], True)
    found, is_full = read_events(limited, large_events + 2, 10)
    assert ([each.number - large_events for each in found], is_full) == ([3], False)
    assert read_events(limited, large_events, 2).is_full
    assert read_events(limited, large_events + 3, 2) == ([], False)
