"""The query parameters and response headers of operations on elements, for decorators and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter

from elements.api.query import (
    CONTEXT,
    CULTURE,
    DEFAULT_PAGE_SIZE,
    DETAILS,
    DRY_RUN,
    EXPAND,
    FALLBACK,
    FILTER,
    FORMAT,
    MAX_PAGE,
    ORDER_BY,
    PAGE,
    PAGE_SELECTION_KEY,
    PAGE_SIZE,
    RESOURCES_NAME,
    SELECT,
    TIME_ORDERS,
)
from elements.diagrams.drawables import LayoutKey
from elements.filters.parsing import MAX_LENGTH
from elements.reading.assembly.assembler import REFERENCE_PARTS
from elements.reading.assembly.projection import NAMES, RESOURCES
from elements.reading.lists.ordering import MAX_KEYS
from elements.reading.lists.ordering import MAX_LENGTH as MAX_ORDER_LENGTH
from elements.tables.formats import TableFormat
from repository_site.core.wording import listed
from storage.api.moments import AS_OF


def query_parameter(name: str, text: str, *, required: bool = False, **kind: object) -> OpenApiParameter:
    schema = {"type": "string", **kind}
    return OpenApiParameter(name, schema, OpenApiParameter.QUERY, required, description=text)


def number_parameter(name: str, text: str, most: int, *, least: int = 1, required: bool = False) -> OpenApiParameter:
    return query_parameter(name, text, required=required, type="integer", minimum=least, maximum=most)


def _header(name: str, text: str, kind: type = str) -> OpenApiParameter:
    return OpenApiParameter(name, kind, OpenApiParameter.HEADER, description=text, response=[200])


PAST = [
    query_parameter(
        AS_OF,
        "Returns what was there at this time, as far as the caller can see it today: ISO 8601, such as"
        " `2026-03-01T09:30:00` or `2026-03-01T08:30:00Z`. Without an offset, the time is local to the time zone of the"
        " storage. A time in the future, or before the record of the storage begins, gets 422.",
    )
]


def _resources(known: Sequence[str], text: str = "") -> OpenApiParameter:
    one = rf"\s*({'|'.join(known)})\s*"
    about = f"Parts of an element to include, separated by commas: {', '.join(RESOURCES)}.{text}"
    return query_parameter(RESOURCES_NAME, about, pattern=f"^{one}(,{one})*$")


_FILTER = query_parameter(
    FILTER,
    "Filter expression, such as `name -eq 'Order parts'`; see the reference of the filter language.",
    maxLength=MAX_LENGTH,
)
_ORDER = query_parameter(
    ORDER_BY,
    "Keys to sort by, separated by commas, such as `name[1033] desc,createdOn`: attributes, with a culture if they"
    " depend on it, `id`, `type`, `state` and `stereotype`. Missing values come last, and elements with equal keys are"
    f" sorted by id. At most {MAX_KEYS} keys. The default is the name in the default culture.",
    maxLength=MAX_ORDER_LENGTH,
)
_RESOURCES = _resources(
    (*RESOURCES, NAMES),
    f" `{NAMES}` adds the names of the targets to all references; alone, it includes the usual parts.",
)
_SELECT = query_parameter(SELECT, "Attributes and related contexts to include, separated by commas.")
_EXPANDED = "Related contexts whose references include their own references, separated by commas."
_EXPAND = query_parameter(
    EXPAND,
    f"{_EXPANDED} With attributes in brackets, such as `owner(name)`, the references include these attributes of their"
    f" targets instead; lists and single elements take {listed(sorted(REFERENCE_PARTS))} in this form, too.",
)
_PAGE = number_parameter(PAGE, "Number of the page; the first page is 1.", MAX_PAGE)
_PAGE_SIZE = number_parameter(
    PAGE_SIZE, f"Items on a page. The default is {DEFAULT_PAGE_SIZE}.", settings.MAX_PAGE_SIZE
)
_ELEMENTS_ON_PAGE = number_parameter(
    PAGE_SIZE,
    f"Elements on a page. The default is {DEFAULT_PAGE_SIZE}. 0 returns no elements, and `count` is the number of all.",
    settings.MAX_PAGE_SIZE,
    least=0,
)
_PAGE_SELECTION_KEY = query_parameter(
    PAGE_SELECTION_KEY, "Id of an element or version; the response is the page that contains it.", format="uuid"
)
_TOTAL = _header("X-Total-Count", "Number of items on all pages; only in paged responses.", int)
PAGE_HEADERS = [
    _TOTAL,
    _header("Link", "Addresses of the first, previous, next and last page; only in paged responses."),
]
WRITTEN = [_header("ETag", "Entity tag of the version, for `If-Match`; only in responses with one element.")]
_CULTURES = [
    query_parameter(
        CULTURE,
        "Id of a data culture. Elements then have `values`, the plain values in this culture, in place of `attributes`,"
        " and `displayName` in place of `displayNames`. Names without a culture in `$filter` mean these values.",
        type="integer",
        minimum=1,
    ),
    query_parameter(
        FALLBACK,
        "`true`: a value that is missing in `$culture` is taken from another culture: one of the same language, else"
        " the default culture, else any other.",
        type="boolean",
    ),
]
ONE = [_FILTER, _RESOURCES, _SELECT, _EXPAND, *_CULTURES, *PAST]
ONE_REPORT = [_FILTER, _resources(RESOURCES), _SELECT, query_parameter(EXPAND, _EXPANDED), *_CULTURES, *PAST]
PAGES = [_PAGE, _PAGE_SIZE, *PAGE_HEADERS]
LOG_PAGES = [
    query_parameter(ORDER_BY, "`time desc` returns the newest entries first, `time` the oldest.", enum=[*TIME_ORDERS]),
    *PAGES,
    *PAST,
]
_FORMAT = query_parameter(
    FORMAT,
    "Returns the list as a table for spreadsheets instead of JSON, with the media type of the format."
    f" `{EXPAND}` and `{CULTURE}` cannot be combined with it.",
    enum=[*TableFormat],
)
_LISTED = [_ORDER, _PAGE, _ELEMENTS_ON_PAGE, *PAGE_HEADERS]
REPORT = [*ONE_REPORT, *_LISTED]
LIST = [*ONE, *_LISTED, _PAGE_SELECTION_KEY, _FORMAT]
QUERIED = [*PAST, _TOTAL]
COMPARED = [_SELECT]
ATTRIBUTES = [_FILTER, _SELECT, *PAST]
ONE_ATTRIBUTE = [_FILTER, *PAST]
RELATED = [_FILTER, _SELECT, _EXPAND, *PAST]
ONE_RELATED = [_FILTER, _EXPAND, *PAST]
REFERRERS = [
    query_parameter(CONTEXT, "Related contexts in which the elements refer, separated by commas, case-insensitive."),
    *PAGES,
    *PAST,
]
CONTENT = [
    query_parameter(
        DETAILS,
        "`true` adds bounds, lanes, containers and labels of the diagram to the response.",
        type="boolean",
    ),
    *PAST,
]
REPLACEMENT = [
    query_parameter(DRY_RUN, "`true` makes all checks and reports the changes, but writes nothing.", type="boolean")
]
_LCID = query_parameter(
    "lcid",
    "Data culture of the names in the document. The default is the default culture of the storage.",
    type="integer",
    minimum=1,
)
BPMN_EXPORT = [_LCID, *PAST]
BPMN_IMPORT = [_LCID, OpenApiParameter("dryRun", bool, description="`true` only reports what would change.")]
PICTURE = [
    OpenApiParameter("cultureId", int, OpenApiParameter.PATH, description="Data culture for the names in the diagram."),
    OpenApiParameter(
        "layoutKey", str, OpenApiParameter.PATH, description=f"Layout of the picture: {listed(list(LayoutKey), 'or')}."
    ),
    *PAST,
]
