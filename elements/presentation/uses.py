"""Uses of an element by context, process and step, for reader pages and the back office (D417)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from elements.presentation.labels import Labels, Named, Text
from elements.reading.bounds import TooHeavy
from elements.reading.diagrams.picture_notes import BY_FACET, NoteKind
from elements.reading.referrers import Referrer, Referrers, reading_referrers, referring_contexts
from elements.reading.rows import VersionRow
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import Reading, read

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

    def __init__(self, labels: Labels, row: VersionRow, name: Text, found: Referrers) -> None:
        self.labels = labels
        self.row = row
        self.name = name
        self.found = found

    @property
    def total(self) -> int:
        return self.found.total()

    @property
    def has_more(self) -> bool:
        return self.total > len(self.found.page)

    @cached_property
    def contexts(self) -> list[ContextUses]:
        return self._contexts(self.found.page)

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
        return self.labels.reader.types[self.row.type]

    @cached_property
    def _contexts_of_steps(self) -> set[str]:
        return {each.context for each in referring_contexts(self.labels.reader.nested) if each.is_drawn}

    def label(self, context: str) -> str:
        known = referring_contexts(self.labels.reader.nested)
        return next((self.labels.property(each.definition) for each in known if each.context == context), context)

    def _contexts(self, referrers: Iterable[Referrer]) -> list[ContextUses]:
        by_context = groupby(referrers, lambda each: each.context)
        return [ContextUses(self.label(context), self._processes(some)) for context, some in by_context]

    def _processes(self, referrers: Iterable[Referrer]) -> list[ProcessSteps]:
        by_process = groupby(referrers, lambda each: each.diagrams[0].owner if each.diagrams else None)
        found = []
        for _process, some in by_process:
            steps = list(some)
            shown = [self.labels.link(each.owner, each.names) for each in steps[0].diagrams[:1]]
            found.append(ProcessSteps(shown[0] if shown else None, [self._step(each) for each in steps]))
        return found

    def _step(self, referrer: Referrer) -> UsingStep:
        # A diagram may show an element twice.
        shown = {each.owner.element: self.labels.link(each.owner, each.names) for each in referrer.diagrams}
        return UsingStep(self.labels.link(referrer.identity, referrer.names), list(shown.values())[1:])


def read_uses(labels: Labels, row: VersionRow, name: Text, limit: int) -> Uses:
    """Return the first uses, for the page of the element; none if their names are too long to be read together."""
    return read(reading_uses(labels, row, name, limit))


def reading_uses(labels: Labels, row: VersionRow, name: Text, limit: int) -> Reading[Uses]:
    try:
        found = yield from reading_referrers(labels.reader, row, limit=limit, for_page=True)
    except TooHeavy:
        found = Referrers((), {}, is_complete=False)
    return Uses(labels, row, name, found)
