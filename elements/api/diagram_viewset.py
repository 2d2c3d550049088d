"""The diagram of an element as an SVG picture."""

from __future__ import annotations

import re

from rest_framework.request import Request

from elements.api import query_parameters
from elements.api.element_serializers import PICTURE
from elements.api.reading_viewset import ElementReadingViewSet
from elements.diagrams.layout import Direction
from elements.naming import NAME
from elements.reading.pictures import draw_diagram, read_drawn_shapes
from elements.reading.rows import Identity, complete
from repository_site.core.problems import NotFound, Unreadable
from repository_site.core.rest.late_response import LateResponse
from repository_site.core.rest.operation import Operation
from repository_site.core.rest.rendering import HTML_TYPE, SVG_TYPE
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import listed, printable
from storage.api.conditional_requests import Prepared

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
        direction = _direction(names["layoutKey"])
        row = self.element(names["elementId"])
        types, pages = self.reader.types, self.reader.addresses.pages
        if not types[row.type].has_diagram:
            raise NotFound(
                f"There is no diagram of {row.version}: elements of the type {types[row.type].key} have no diagram."
            )

        named = complete(row, (NAME,))

        def page(of: Identity) -> str:
            return pages(types[of.type])[str(culture)] + of.version

        def draw() -> LateResponse:
            drawn = read_drawn_shapes(self.reader, row)
            return LateResponse(
                lambda: draw_diagram(self.reader, named, drawn, culture, direction, link=page).encode(),
                SVG_TYPE,
                {"Content-Security-Policy": POLICY},
            )

        return Prepared(draw)

    def _culture(self, text: str) -> int:
        known = listed(self.configuration.cultures.data)
        if not re.fullmatch("[0-9]{1,9}", text):
            raise Unreadable(f"{printable(text, 40)!r} is not a culture id; the storage has {known}.")
        if int(text) not in self.configuration.cultures.data:
            raise NotFound(f"There is no culture {int(text)} in this storage; it has {known}.")
        return int(text)


def _direction(key: str) -> Direction:
    """Return the layout with this key, case-insensitive (D1)."""
    found = next((each for each in Direction if each == key.casefold()), None)
    if found is None:
        raise NotFound(f"There is no layout {printable(key, 40)!r}; use {listed(list(Direction), 'or')}.")
    return found
