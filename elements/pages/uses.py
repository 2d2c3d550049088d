"""The page of all uses of an element, in pages (D417)."""

from __future__ import annotations

from urllib.parse import urlencode

from django.utils.translation import gettext as _

from elements.naming import NAME
from elements.pages.search import Choice, Choices
from elements.pages.visits import Visit
from elements.presentation.labels import Kind, Text
from elements.presentation.uses import Uses
from elements.reading.assembly.attributes import read_exactly
from elements.reading.referrers import reading_referrers
from elements.reading.rows import VersionRow
from repository_site.core.database.statements import read

PAGE = 50


def uses_address(visit: Visit, row: VersionRow) -> str:
    return f"{visit.address(row)}/uses"


class UsesPage:
    """All uses of an element in pages. `context` narrows them, unless it is empty."""

    def __init__(self, visit: Visit, row: VersionRow, context: str, number: int) -> None:
        self.visit = visit
        self.row = row
        self.context = context
        self.number = number
        contexts = (context,) if context else ()
        found = read(
            reading_referrers(visit.reader, row, contexts, limit=PAGE, offset=(number - 1) * PAGE, for_page=True)
        )
        name = visit.name(read_exactly(row.attributes).get(NAME, {}))
        self.uses = Uses(visit, row, name, found)
        self.total = found.total(contexts)
        self.is_complete = found.is_complete

    @property
    def name(self) -> Text:
        return self.uses.name

    @property
    def kind(self) -> Kind:
        return self.visit.kind(self.visit.reader.types[self.row.type])

    @property
    def address(self) -> str:
        return self.visit.address(self.row)

    @property
    def own_address(self) -> str:
        """The address that a printed copy names."""
        return self._address(self.context, self.number)

    @property
    def facet_address(self) -> str:
        return self.visit.facet_address(self.visit.reader.types[self.row.type].facet)

    @property
    def facet_title(self) -> str:
        return self.visit.facet(self.visit.reader.types[self.row.type].facet)

    @property
    def narrowing(self) -> list[Choices]:
        counts = self.uses.found.counts
        if len(counts) < 2 and not self.context:
            return []
        choices = [
            Choice(
                self.uses.label(each), number, self._address("" if each == self.context else each), each == self.context
            )
            for each, number in counts.items()
        ]
        return [Choices(_("Context"), choices)]

    @property
    def pages(self) -> int:
        return max(-(-self.total // PAGE), 1)

    @property
    def previous_address(self) -> str:
        return self._address(self.context, min(self.number - 1, self.pages)) if self.number > 1 else ""

    @property
    def next_address(self) -> str:
        return self._address(self.context, self.number + 1) if self.number < self.pages else ""

    def _address(self, context: str, number: int = 1) -> str:
        given = {"context": context, "page": str(number) if number > 1 else ""}
        query = urlencode({name: value for name, value in given.items() if value})
        address = uses_address(self.visit, self.row)
        return f"{address}?{query}" if query else address
