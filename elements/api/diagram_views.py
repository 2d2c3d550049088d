"""The diagram of an element as a picture: parse, draw, answer SVG."""

from __future__ import annotations

import re

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from elements.api import schema
from elements.api.tags import ConditionalOperation, Prepared
from elements.diagrams.layout import Direction
from elements.reading.pictures import draw_diagram
from elements.reading.rows import Identity
from repository_site.core.problems import NotFound, Unreadable
from repository_site.core.rest.rendering import SVG_TYPE
from repository_site.core.rest.versioning import ApiVersions
from repository_site.core.wording import listed, printable

# Whatever a stored text may hold, a browser runs nothing of it and loads nothing for it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@extend_schema(
    tags=["diagrams"], summary="Picture of a diagram", parameters=schema.PICTURE_PARAMETERS, responses=schema.PICTURE
)
class DiagramView(ConditionalOperation):
    """The diagram of an element, or of one of its versions, as SVG; each shape leads to the page of its element."""

    operation_id = "renderDiagram"
    versions = ApiVersions.up_to("1.0")
    # A browser that is given the address asks for a page.
    answers = (SVG_TYPE, "text/html")

    def prepare(self, request: Request, **names: str) -> Prepared:
        self.query(request).finish()
        culture = self._culture(names["cultureId"])
        direction = _direction(names["layoutKey"])
        row = self.element(names["elementId"])
        types, pages = self.reader.types, self.reader.addresses.pages
        if not types[row.type].has_diagram:
            raise NotFound(
                f"There is no diagram of {row.version}: elements of the type {types[row.type].key} have none."
            )

        def page(of: Identity) -> str:
            return pages(types[of.type])[str(culture)] + of.version

        def draw() -> HttpResponse:
            picture = draw_diagram(self.reader, row, culture, direction, link=page)
            return HttpResponse(picture.encode(), content_type=SVG_TYPE, headers={"Content-Security-Policy": POLICY})

        return Prepared(draw)

    def _culture(self, text: str) -> int:
        known = listed(self.configuration.cultures.data)
        if not re.fullmatch("[0-9]{1,9}", text):
            raise Unreadable(f"{printable(text, 40)!r} is no culture id; there are {known}.")
        if int(text) not in self.configuration.cultures.data:
            raise NotFound(f"There is no culture {int(text)} in this storage; there are {known}.")
        return int(text)


def _direction(key: str) -> Direction:
    """Ignoring letter case (D1)."""
    found = next((each for each in Direction if each == key.casefold()), None)
    if found is None:
        raise NotFound(f"There is no layout {printable(key, 40)!r}; there are {listed(list(Direction))}.")
    return found
