"""The page about load in the site's back office (D262)."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from storage.admin import load
from storage.models import RequestCount, Storage
from storage.tenancy.load import ClusterLoad, DatabaseLoad, LoadSource
from tests.factories import StaffAccountFactory
from tests.storage.office import signed_in, site_administrator

pytestmark = pytest.mark.django_db
PAGE = "/admin/load/"


def rows(client: Client) -> list[list[str]]:
    """Return the texts of all rows of all tables, headings included."""
    page = client.get(PAGE).content.decode()
    found = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", each, re.DOTALL) for each in found]
    return [[" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in row] for row in cells]


def count(storage: Storage, hours: int, requests: int, milliseconds: int) -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours)
    RequestCount.objects.create(storage=storage, hour=hour, requests=requests, milliseconds=milliseconds)


def test_requests_are_listed_by_time(storage: Storage, other_storage: Storage) -> None:
    count(storage, 0, 3, 1500)
    count(storage, 1, 1000, 2000)
    count(other_storage, 1, 20, 90_000)
    count(other_storage, 2, 999, 999_000)
    assert rows(site_administrator()) == [
        ["Storage", "Requests, this hour", "Last hour", "Total time, this hour", "Last hour"],
        ["rival/handbook Rival's handbook".replace("'", "&#x27;"), "0", "20", "0.0 s", "90.0 s"],
        ["acme/handbook Handbook", "3", "1,000", "1.5 s", "2.0 s"],
    ]


@pytest.mark.one_node("the page of one server")
def test_one_server_measures_no_storages(storage: Storage) -> None:
    page = site_administrator().get(PAGE).content.decode()
    assert "All storages are on one PostgreSQL server" in page
    assert "No storage had a request in this or the last hour." in page


def test_only_site_administrators_see_it(storage: Storage) -> None:
    assert signed_in(StaffAccountFactory.create()).get(PAGE).status_code == 403
    assert Client().get(PAGE).status_code == 302


def test_the_navigation_leads_to_it(storage: Storage) -> None:
    assert f'href="{PAGE}"' in site_administrator().get("/admin/").content.decode()
    assert f'href="{PAGE}"' not in signed_in(StaffAccountFactory.create()).get("/admin/").content.decode()


def test_storages_of_a_cluster_are_listed_by_name(
    storage: Storage, other_storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = (
        DatabaseLoad(other_storage.pk, "worker-1:5432", 1200, 800, 2.25, 1.0),
        DatabaseLoad(storage.pk, "worker-2:5432", 5, 0, 0.04, 0.0),
    )
    found = ClusterLoad(LoadSource.MEASURED, loads, 60, away=("worker-3:5432",))
    monkeypatch.setattr(load, "cluster_load", lambda: found)
    client = site_administrator()
    assert rows(client) == [
        ["Storage", "Node", "Statements, this period", "Last period", "CPU time, this period", "Last period"],
        ["rival/handbook Rival&#x27;s handbook", "worker-1:5432", "1,200", "800", "2.25 s", "1.00 s"],
        ["acme/handbook Handbook", "worker-2:5432", "5", "0", "0.04 s", "0.00 s"],
    ]
    page = client.get(PAGE).content.decode()
    assert "Periods of 60 seconds" in page
    assert "worker-3:5432" in page


@pytest.mark.parametrize(
    ("found", "texts"),
    [
        (ClusterLoad(LoadSource.OLD_CITUS), ["Update it to 11.3 or later."]),
        (
            ClusterLoad(LoadSource.NOT_PERMITTED),
            ["GRANT pg_monitor TO &quot;", "Run this on all nodes, as a superuser:"],
        ),
        (
            ClusterLoad(LoadSource.NOT_TRACKED, period=60, untracked=("worker-1:5432",)),
            ["These nodes do not measure storages: worker-1:5432.", "citus.stat_tenants_track = &#x27;all&#x27;"],
        ),
    ],
)
def test_the_page_says_what_to_set(
    storage: Storage, found: ClusterLoad, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "cluster_load", lambda: found)
    page = site_administrator().get(PAGE).content.decode()
    assert [text for text in texts if text not in page] == []
