"""The page of an element: its head, its facts, and the tabs that are registered in `panels`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from elements.admin import parts
from elements.admin.access import panel as access_panel
from elements.admin.comparison import record, versions
from elements.admin.labels import element_address
from elements.admin.panels import ElementPage, Panel, add_address, find_page
from elements.extension import elements_extensions
from elements.presentation.labels import Fact
from elements.presentation.page_subscriptions import subscribing_of
from repository_site.core.database.statements import Reading, read_together, side_by_side
from storage.back_office import storage_office
from storage.pages import Fragment, ReadPage


def element_view(request: HttpRequest, element: str) -> HttpResponseBase:
    page = find_page(request, element, request.GET.get("version"))
    if element.lower() != page.row.element:
        # The id of a version redirects to the page of its element.
        return redirect(element_address(page.row.element, version=page.row.version))
    panels = panels_of(page)
    chosen = next((each for each in panels if each.key == request.GET.get("tab")), panels[0])
    # All elements that the page names are read before it is rendered.
    _own, page.prepared, cards, _badges = read_together(
        page.reading(), chosen.reading(page), reading_cards(page), storage_office.reading_badges(request)
    )
    context = {
        **office_context(request, page.name),
        "page": page,
        "links": {
            "reader": page.reader_address,
            "api": page.labels.reader.addresses.detail(page.type) + page.row.version,
            "edit": page.address_of("elements_edit"),
            "draw": page.address_of("elements_steps") if page.can_draw else None,
            "add": add_address(parent=page.row.element),
            "delete": page.address_of("elements_element_delete"),
        },
        "tabs": [
            {"title": each.title, "address": page.address(tab=each.key), "is_chosen": each is chosen} for each in panels
        ],
        "panel": chosen,
        "subtitle": chosen.title if chosen is not panels[0] else "",
        "content": chosen.read(page),
        "asides": cards(),
    }
    return ReadPage(request, "back_office/elements/element.html", context)


def office_context(request: HttpRequest, title: str, *, is_below_list: bool = True) -> dict[str, Any]:
    """Return the context of a page, whose head leads back to the list of elements."""
    request.current_app = storage_office.name  # read by unfold while it renders
    if is_below_list:
        above = {"title": _("Elements"), "link": reverse("admin:elements_element_changelist")}
        request.trail = [above, {"title": title}]  # type: ignore[attr-defined]  # for the head
    return {**storage_office.each_context(request), "title": title}


def facts_of(page: ElementPage) -> Iterator[Fact]:
    row, labels = page.row, page.labels
    yield Fact(_("Facet"), labels.facet(page.type.facet))
    yield Fact(_("Can be changed by"), page.changers)
    if row.stereotype:
        yield Fact(_("Stereotype"), page.stereotype)
    if page.type.is_versioned:
        yield Fact(_("Valid from"), labels.moment(row.valid_from))
        yield Fact(_("Valid until"), labels.end(row.valid_until))
    for label, moment, caller in (
        (_("Created"), row.created_on, row.created_by),
        (_("Changed"), row.changed_on, row.changed_by),
        (_("Released"), row.released_on, row.released_by),
    ):
        if moment is not None:
            person = page.named.get(caller or "")
            yield Fact(label, labels.moment(moment), [person] if person else [])
    yield Fact(_("Id"), row.element)
    if page.type.is_versioned:
        yield Fact(_("Version id"), row.version)


def panels_of(page: ElementPage) -> list[Panel]:
    added = [panel for extension in elements_extensions for panel in extension.panels]
    panels = (*parts.PANELS, versions.PANEL, record.PANEL, access_panel.PANEL, *added)
    return sorted((each for each in panels if each.concerns(page)), key=lambda panel: panel.order)


def reading_cards(page: ElementPage) -> Reading[Callable[[], list[Fragment]]]:
    """Return the function that makes the cards beside the tabs, without those that have nothing to show. Call it when
    the page has been read."""
    added = [card(page) for extension in elements_extensions for card in extension.cards]
    subscribing, *cards = yield from side_by_side(subscribing_of(page.request, page.row.element), *added)

    def make() -> list[Fragment]:
        facts = Fragment("back_office/elements/facts.html", {"facts": list(facts_of(page))}, page.request)
        subscription = Fragment("back_office/elements/subscription.html", {"subscribing": subscribing}, page.request)
        return [*(made for card in cards if (made := card()) is not None), subscription, facts]

    return make
