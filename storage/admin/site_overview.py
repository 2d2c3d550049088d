"""Start page of the site's back office: numbers and charts for site administrators, links for other staff."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from storage.access.staff import staff_caller
from storage.admin.charts import traffic_charts
from storage.admin.storage_tables import StorageRow, StorageTable
from storage.admin.storages import storage_path
from storage.back_office.cells import NOTHING, badge, number, role_badges
from storage.models import ApiToken, StaffAccount, Storage, StorageCollection, TokenState
from storage.options import Role
from storage.traffic_report import NONE, Traffic, traffic_by_storage


def site_overview(request: HttpRequest) -> dict[str, Any]:
    account = request.user
    if not isinstance(account, StaffAccount):
        return {}
    if not account.is_superuser:
        return {"entered": _storages_of(account)}
    now = timezone.now()
    return {
        "numbers": _numbers(),
        "charts": traffic_charts(now),
        "busy": _traffic_table(traffic_by_storage(now)),
    }


def _numbers() -> list[dict[str, Any]]:
    """Return the numbers of the start page, each with the address of its list."""
    tokens = ApiToken.objects.in_state(TokenState.ACTIVE, timezone.now())
    counted = (
        (_("Collections"), "folder", StorageCollection.objects.count(), "storage_storagecollection", ""),
        (_("Storages"), "database", Storage.objects.count(), "storage_storage", ""),
        (_("Active tokens"), "key", tokens.count(), "storage_apitoken", "?state=active"),
        (
            _("Staff accounts"),
            "badge",
            StaffAccount.objects.filter(is_active=True).count(),
            "storage_staffaccount",
            "?is_active__exact=1",
        ),
    )
    return [
        {"title": title, "icon": icon, "number": number(found), "link": reverse(f"admin:{page}_changelist") + query}
        for title, icon, found, page, query in counted
    ]


def _traffic_table(found: dict[Any, Traffic]) -> StorageTable:
    """Return the storages with the most requests first."""
    storages = Storage.objects.select_related("collection")
    rows = [(storage, found.get(storage.pk, NONE)) for storage in storages]
    rows.sort(key=lambda row: (-row[1].requests, str(row[0])))
    opening = format_html('<span class="access-unseen">{}</span>', pgettext("action", "Open"))
    return StorageTable(
        [_("Requests"), _("Client errors"), _("Server errors"), _("Average"), opening],
        [StorageRow(storage, _traffic_cells(storage, traffic)) for storage, traffic in rows],
    )


def _traffic_cells(storage: Storage, traffic: Traffic) -> list[str]:
    counts = ((traffic.client_errors, "warning"), (traffic.server_errors, "danger"))
    link = '<a href="{}/admin/" class="text-link whitespace-nowrap">{}</a>'
    return [
        number(traffic.requests),
        *(badge(number(count), kind) if count else "0" for count, kind in counts),
        NOTHING if traffic.average is None else f"{traffic.average} ms",
        format_html(link, storage_path(storage), _("Back office")),
    ]


def _storages_of(account: StaffAccount) -> list[dict[str, Any]]:
    """Return the storages that the account can open, with its roles there; an inactive user opens none."""
    memberships = account.memberships.select_related("storage__collection").order_by("storage__collection__key")
    found = []
    for membership in memberships:
        caller = staff_caller(account, membership.storage)
        if caller is None:
            continue
        is_reader = not caller.roles - {Role.VIEWER}
        address = storage_path(membership.storage)
        found.append(
            {
                "storage": membership.storage,
                "link": f"{address}/" if is_reader else f"{address}/admin/",
                "pages": f"{address}/",
                "roles": role_badges(caller.roles),
            }
        )
    return found
