"""The diagram of an element as an SVG picture."""

from __future__ import annotations

import re

from rest_framework.request import Request

from elements.api import query_parameters
from elements.api.element_serializers import PICTURE, DiagramLayoutsSerializer
from elements.api.reading_viewset import ElementReadingViewSet
from elements.diagrams.drawables import LayoutKey
from elements.diagrams.fixed_texts import words_in
from elements.naming import NAME
from elements.reading.diagrams.pictures import draw_diagram, read_drawn_shapes
from elements.reading.rows import Identity, VersionRow, complete
from facets.blueprint.texts import Texts
from facets.rendering import display_names
from repository_site.core.problems import NotFound, Unreadable
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import HTML_TYPE, SVG_TYPE, answer, counted
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import listed, printable
from storage.api.conditional_requests import Prepared
from storage.localisation.cultures import CultureSet, language_of

# Whatever a stored text contains, a browser runs no script of it and loads nothing for it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class DiagramViewSet(ElementReadingViewSet):
    @Operation(
        "renderDiagram",
        tag="diagrams",
        summary="Render a diagram as SVG",
        versions=ApiVersions.up_to("1.0"),
        # A browser that opens the address asks for HTML.
        media_types=(SVG_TYPE, HTML_TYPE),
        parameters=query_parameters.PICTURE,
        is_conditional=True,
        responses=PICTURE,
    )
    def retrieve(self, request: Request, **names: str) -> Prepared:
        """Return the diagram of an element, or of one of its versions, as SVG.

        Each shape links to the page of its element.
        """
        self.query(request).finish()
        culture = self._culture(names["cultureId"])
        layout = _layout(names["layoutKey"])
        row = self.element(names["elementId"])
        self._check_diagram(row)
        types, pages = self.reader.types, self.reader.addresses.pages
        named = complete(row, (NAME,))

        def page(of: Identity) -> str:
            return pages(types[of.type])[str(culture)] + of.version

        def draw() -> LateResponse:
            drawn = read_drawn_shapes(self.reader, row, layout)
            return LateResponse(
                lambda: draw_diagram(self.reader, named, drawn, culture, layout, link=page).encode(),
                SVG_TYPE,
                {"Content-Security-Policy": POLICY},
            )

        return Prepared(draw)

    @Operation(
        "listDiagramLayouts",
        tag="diagrams",
        summary="List the layouts of a diagram",
        versions=ApiVersions.up_to("1.0"),
        parameters=query_parameters.PAST,
        is_conditional=True,
        responses=DiagramLayoutsSerializer,
    )
    def list(self, request: Request, **names: str) -> Prepared:
        """Return the layouts in which the diagram of an element can be rendered, the default first."""
        self.query(request).finish()
        self._check_diagram(self.element(names["elementId"]))
        cultures = self.configuration.cultures
        configured = {each.key.casefold(): each.display_names for each in self.configuration.blueprint.layouts}
        values = [
            {"key": key.value, "displayNames": _display_names(key, configured.get(key.casefold(), ()), cultures)}
            for key in LayoutKey
        ]
        return Prepared(lambda: answer(counted("values", values)))

    def _check_diagram(self, row: VersionRow) -> None:
        type = self.reader.types[row.type]
        if not type.has_diagram:
            raise NotFound(f"There is no diagram of {row.version}: elements of the type {type.key} have no diagram.")

    def _culture(self, text: str) -> int:
        known = listed(self.configuration.cultures.data)
        if not re.fullmatch("[0-9]{1,9}", text):
            raise Unreadable(f"{printable(text, 40)!r} is not a culture id; the storage has {known}.")
        if int(text) not in self.configuration.cultures.data:
            raise NotFound(f"There is no culture {int(text)} in this storage; it has {known}.")
        return int(text)


def _layout(key: str) -> LayoutKey:
    """Return the layout with this key, case-insensitive (D1)."""
    found = next((each for each in LayoutKey if each.casefold() == key.casefold()), None)
    if found is None:
        raise NotFound(f"There is no layout {printable(key, 40)!r}; use {listed(list(LayoutKey), 'or')}.")
    return found


def _display_names(key: LayoutKey, configured: Texts, cultures: CultureSet) -> dict[int, str]:
    """Return the names of a layout: those of the storage, or else ours in the language of each culture."""
    if configured:
        return display_names(configured, cultures, key)
    return {lcid: words_in(language_of(lcid)).layouts[key] for lcid in sorted(cultures.data)}
