"""The button that copies a link to a page: the permalink for members, the address of the page for others (D415)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest

from elements.models import LinkType
from elements.pages.element_pages import ElementReaderPage
from elements.pages.facet_pages import FacetPage
from elements.permalinks import CULTURE, ELEMENT, FACET, FILTER, LINK_TYPE, VERSION, VIEW, can_create
from storage.pages import caller_of
from storage.tenancy.addresses import public_base


@dataclass(frozen=True, slots=True)
class CopyLink:
    """`fields` is the body that creates the permalink; empty for visitors who cannot create one."""

    fields: Mapping[str, str]
    address: str


def copying_of_element(request: HttpRequest, page: ElementReaderPage) -> CopyLink:
    """Link to the element, which has other versions later; on the page of an older version, link to that version."""
    visit, row = page.visit, page.row
    if page.is_current:
        address = f"{visit.facet_address(page.type.facet)}{row.element}"
        return _copying(request, visit.lcid, {LINK_TYPE: LinkType.OF_ELEMENT, ELEMENT: row.element}, address)
    return _copying(request, visit.lcid, {LINK_TYPE: LinkType.OF_VERSION, VERSION: row.version}, page.address)


def copying_of_facet(request: HttpRequest, page: FacetPage) -> CopyLink:
    kind = LinkType.OF_SELECTION if page.selection else LinkType.OF_OVERVIEW
    fields = {LINK_TYPE: kind, FACET: page.facet.facet.name, VIEW: page.view, FILTER: page.selection}
    return _copying(request, page.visit.lcid, fields, page.own_address)


def _copying(request: HttpRequest, lcid: int, fields: Mapping[str, str], address: str) -> CopyLink:
    given = {name: str(value) for name, value in {**fields, CULTURE: lcid}.items() if value}
    return CopyLink(given if can_create(caller_of(request)) else {}, public_base(request) + address)
