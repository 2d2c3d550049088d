"""The list of elements as a table for spreadsheets, with the filters and the search of the list (D463)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import cast

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from elements.admin.labels import labels_of
from elements.admin.lists import ElementAdmin
from elements.models import Element
from elements.reading.lists.streams import Stream, limit_stream
from elements.tables.columns import table_columns
from elements.tables.formats import TableFormat
from elements.tables.rows import BATCH, TableRows
from repository_site.core.fairness.admission import stream_ticket
from repository_site.core.problems import NotFound
from repository_site.core.rest.streamed_response import StreamedResponse
from storage.back_office import storage_office


def table_view(request: HttpRequest, format: str) -> HttpResponseBase:
    """Stream the elements of the list, with all properties of their types."""
    if format not in set(TableFormat):
        raise NotFound(_("There is nothing at this address."))
    table = TableFormat(format)
    reader, listed = labels_of(request).reader, _listed(request)
    types = {str(each) for each in listed.order_by().values_list("type_id", flat=True).distinct()}
    shown = [(type, type.properties) for row, type in reader.types.items() if row in types]
    columns = table_columns(shown, reader.configuration.cultures.data)
    batches = TableRows(reader, columns).batches(_keys(listed), _limit)
    response = StreamedResponse(Stream(table.write(columns, batches), stream_ticket(request)), table.media_type)
    table.name_file(response, "elements")
    return response


def _listed(request: HttpRequest) -> QuerySet[Element]:
    """Return the elements of the list. Those that a search text finds have the order of names."""
    found = cast("ElementAdmin", storage_office.get_model_admin(Element)).whole_list(request)
    elements: QuerySet[Element] = found.queryset
    ids = found.all_elements(labels_of(request))
    return elements if ids is None else elements.filter(id__in=ids)


def _keys(listed: QuerySet[Element]) -> Iterator[tuple[int, list[str]]]:
    """Return the newest versions in batches from a server-side cursor, each with the total."""
    total = listed.count()
    versions = iter(listed.values_list("newest_id", flat=True).iterator(BATCH))
    while batch := [str(each) for each in islice(versions, BATCH)]:
        yield total, batch


def _limit() -> None:
    limit_stream(settings.STREAM_TIMEOUT, settings.STATEMENT_TIMEOUT)


storage_office.add_page("elements/element/table/<str:format>/", table_view, "elements_table")
