"""Addresses of conditional reads, with the form of their entity tags."""

from __future__ import annotations

from typing import Any

from tests.elements.handbook import ID

REST = "/acme/handbook/_api/rest"
PROCESSES = f"{REST}/facets/processes/views/detail/elements"
ORDER = f"{PROCESSES}/{ID['order']}"


# Forms of entity tags: of a page or a part, of a list that may be streamed, of a single element.
STATE, WHOLE, SINGLE = '"[0-9a-f]{32}"', 'W/"[0-9a-f]{32}"', '"[0-9a-f-]{36}[.][0-9]+[.][0-9a-f]{16}"'
READS = {
    PROCESSES: WHOLE,
    f"{PROCESSES}?$filter=StartsWith(name,'o')": WHOLE,
    f"{PROCESSES}?$pageSize=2": STATE,
    f"{PROCESSES}?$pageSelectionKey={ID['order']}": STATE,
    ORDER: SINGLE,
    f"{ORDER}/referencedBy": STATE,
    f"{PROCESSES}?$page=2&$pageSize=2": STATE,
    f"{ORDER}?$filter=IsNull(name)": SINGLE,
    f"{ORDER}/attributes": STATE,
    f"{ORDER}/attributes/name": STATE,
    f"{ORDER}/related": STATE,
    f"{ORDER}/related/systems": STATE,
    f"{PROCESSES}/{ID['sales']}/children": WHOLE,
    f"{PROCESSES}/{ID['order-3']}/content": STATE,
    f"{ORDER}/versions": WHOLE,
    f"{REST}/facets/processes/reporting": WHOLE,
    f"{REST}/facets/processes/reporting?$page=1": STATE,
    f"{REST}/facets/processes/reporting/{ID['order']}": STATE,
    f"{REST}/diagram/{ID['order-3']}/render/1033/vertical": STATE,
}
# Their address names no facet, and their own tests check their entity tags.
FURTHER_READS = (
    f"{REST}/diagram/{ID['order-3']}/render",
    f"/acme/handbook/_api/v1/bpmn/{ID['order-3']}",
    "/acme/handbook/_api/v1/reporting?facet=processes&page=1",
    f"/acme/handbook/_api/v1/reporting/{ID['order']}",
    "/acme/handbook/_api/v2/data/elements?Facet=processes",
    f"/acme/handbook/_api/v2/data/elements/{ID['order']}",
    f"{REST}/search?q=order",
    f"{REST}/search/suggestions?q=or",
)


def headers_of(response: Any) -> dict[str, str]:
    return {name: value for name, value in response.headers.items() if name != "X-Request-ID"}
