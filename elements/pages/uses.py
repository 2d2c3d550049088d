"""Uses of an element, for its page and for the page that shows all of them: by context, process and step (D417)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from elements.naming import NAME
from elements.pages.search import Choice, Choices
from elements.pages.visits import Visit
from elements.presentation.labels import Kind, Named, Text
from elements.reading.assembly.attributes import read_exactly
from elements.reading.bounds import TooHeavy
from elements.reading.diagrams.picture_notes import BY_FACET, NoteKind
from elements.reading.referrers import Referrer, Referrers, read_referrers, referring_contexts
from elements.reading.rows import VersionRow
from facets.blueprint.definitions import ElementType

# Uses on the page of the element, and on a page of all uses.
SHOWN, PAGE = 20, 50
# Anchor of the first section.
ANCHOR = "uses"


@dataclass(frozen=True, slots=True)
class UsingStep:
    """A referring element. `others` are further elements whose diagrams show it."""

    link: Named
    others: Sequence[Named]


@dataclass(frozen=True, slots=True)
class ProcessSteps:
    """Referring elements in the order of a diagram. `process` is None if no diagram shows them."""

    process: Named | None
    steps: Sequence[UsingStep]


@dataclass(frozen=True, slots=True)
class ContextUses:
    label: str
    processes: Sequence[ProcessSteps]


@dataclass(frozen=True, slots=True)
class UseSection:
    heading: str
    anchor: str
    contexts: Sequence[ContextUses]


class Uses:
    """Some uses of an element whose name is already known."""

    def __init__(self, visit: Visit, row: VersionRow, name: Text, found: Referrers) -> None:
        self.visit = visit
        self.row = row
        self.name = name
        self.found = found

    @property
    def total(self) -> int:
        return self.found.total()

    @property
    def all_address(self) -> str:
        """Address of the page with all uses; empty if there are no others."""
        return uses_address(self.visit, self.row) if self.total > len(self.found.page) else ""

    @cached_property
    def sections(self) -> list[UseSection]:
        """The steps of a role are what people do; everything else only uses the element."""
        is_role = BY_FACET.get(self._type.facet.casefold()) is NoteKind.ROLE
        steps = [each for each in self.found.page if is_role and each.context in self._contexts_of_steps]
        others = [each for each in self.found.page if each not in steps]
        duties = _("As %(role)s you do:") % {"role": self.name.in_one_line}
        titled = [(title, some) for title, some in ((duties, steps), (_("Where used"), others)) if some]
        return [
            UseSection(title, f"{ANCHOR}-{number}" if number else ANCHOR, self._contexts(some))
            for number, (title, some) in enumerate(titled)
        ]

    @property
    def _type(self) -> ElementType:
        return self.visit.reader.types[self.row.type]

    @cached_property
    def _contexts_of_steps(self) -> set[str]:
        return {each.context for each in referring_contexts(self.visit.reader.nested) if each.is_drawn}

    def label(self, context: str) -> str:
        known = referring_contexts(self.visit.reader.nested)
        return next((self.visit.property(each.definition) for each in known if each.context == context), context)

    def _contexts(self, referrers: Iterable[Referrer]) -> list[ContextUses]:
        by_context = groupby(referrers, lambda each: each.context)
        return [ContextUses(self.label(context), self._processes(some)) for context, some in by_context]

    def _processes(self, referrers: Iterable[Referrer]) -> list[ProcessSteps]:
        by_process = groupby(referrers, lambda each: each.diagrams[0].owner if each.diagrams else None)
        found = []
        for _process, some in by_process:
            steps = list(some)
            shown = [self.visit.link(each.owner, each.names) for each in steps[0].diagrams[:1]]
            found.append(ProcessSteps(shown[0] if shown else None, [self._step(each) for each in steps]))
        return found

    def _step(self, referrer: Referrer) -> UsingStep:
        # A diagram may show an element twice.
        shown = {each.owner.element: self.visit.link(each.owner, each.names) for each in referrer.diagrams}
        return UsingStep(self.visit.link(referrer.identity, referrer.names), list(shown.values())[1:])


def read_uses(visit: Visit, row: VersionRow, name: Text) -> Uses:
    """Return the first uses, for the page of the element; none if their names are too long to be read together."""
    try:
        found = read_referrers(visit.reader, row.element, limit=SHOWN)
    except TooHeavy:
        found = Referrers((), {}, is_complete=False)
    return Uses(visit, row, name, found)


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
        found = read_referrers(visit.reader, row.element, contexts, limit=PAGE, offset=(number - 1) * PAGE)
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
