"""Storages by load, a page of the site's back office: database load on a Citus cluster, and requests everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from storage.admin.storage_tables import StorageRow, StorageTable
from storage.back_office import site_office
from storage.back_office.cells import number
from storage.models import Storage
from storage.tenancy.load import ClusterLoad, DatabaseLoad, LoadSource, cluster_load, role_of_service
from storage.traffic_report import Traffic, recent_traffic

TRACK = "ALTER SYSTEM SET citus.stat_tenants_track = 'all'; SELECT pg_reload_conf();"


def load_view(request: HttpRequest) -> HttpResponseBase:
    if not request.user.is_superuser:
        raise PermissionDenied
    found = cluster_load()
    storages = {each.pk: each for each in Storage.objects.select_related("collection")}
    context = {
        **site_office.each_context(request),
        "title": _("Load"),
        "database": _database_table(storages, found.loads),
        "period": _period(found.period),
        "hint": _hint(found),
        "away": ", ".join(found.away),
        "requests": _request_table(storages),
    }
    return TemplateResponse(request, "site_office/load.html", context)


def _database_table(storages: dict[UUID, Storage], loads: Sequence[DatabaseLoad]) -> StorageTable:
    statements, seconds, last = _("Statements, this period"), _("CPU time, this period"), _("Last period")
    return StorageTable(
        [_("Node"), statements, last, seconds, last],
        [StorageRow(storages[each.storage], _load_cells(each)) for each in loads if each.storage in storages],
        texts=1,
    )


def _load_cells(load: DatabaseLoad) -> list[str]:
    counts = (number(each) for each in (load.statements, load.last_statements))
    return [load.node, *counts, *(_seconds(each, 2) for each in (load.seconds, load.last_seconds))]


def _request_table(storages: dict[UUID, Storage]) -> StorageTable:
    """Return the storages with requests in this or the last hour, those with the longest time first."""
    found = recent_traffic(timezone.now())
    rows = [(storages[pk], hours) for pk, hours in found.items() if pk in storages]
    rows.sort(key=lambda row: (-sum(each.milliseconds for each in row[1]), str(row[0])))
    requests, seconds, last = _("Requests, this hour"), _("Total time, this hour"), _("Last hour")
    return StorageTable(
        [requests, last, seconds, last], [StorageRow(storage, _request_cells(hours)) for storage, hours in rows]
    )


def _request_cells(hours: Sequence[Traffic]) -> list[str]:
    """Return the numbers of this hour and the last one."""
    return [*(number(each.requests) for each in hours), *(_seconds(each.milliseconds / 1000) for each in hours)]


def _seconds(value: float, places: int = 1) -> str:
    return f"{formats.number_format(value, decimal_pos=places, use_l10n=True, force_grouping=True)} s"


def _period(seconds: int) -> str:
    return ngettext("Periods of %(count)d second", "Periods of %(count)d seconds", seconds) % {"count": seconds}


def _hint(found: ClusterLoad) -> dict[str, str]:
    """Return what to do until the nodes measure storages, and the command for it."""
    if found.source is LoadSource.ONE_SERVER:
        text = _(
            "All storages are on one PostgreSQL server, which does not measure single storages. On a Citus cluster,"
            " this page also shows statements and CPU time by storage."
        )
        return {"text": text, "command": ""}
    if found.source is LoadSource.OLD_CITUS:
        return {"text": _("This release of Citus does not measure tenants. Update it to 11.3 or later."), "command": ""}
    if found.source is LoadSource.NOT_PERMITTED:
        text = _("The service is not permitted to read the measurements. Run this on all nodes, as a superuser:")
        return {"text": text, "command": f'GRANT pg_monitor TO "{role_of_service()}";'}
    if found.source is LoadSource.NOT_TRACKED:
        text = _("These nodes do not measure storages: %(nodes)s. Run this on each of them, as a superuser:")
        return {"text": text % {"nodes": ", ".join(found.untracked)}, "command": TRACK}
    return {}


site_office.add_page("load/", load_view, "storage_load")
