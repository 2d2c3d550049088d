"""The versions of an element, and the differences between two of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.comparison.differences import (
    ComparedRow,
    Drawn,
    Item,
    Mark,
    ShapeDifference,
    compare_diagrams,
    compare_lists,
    compare_texts,
)
from elements.admin.labels import OfficeLabels, element_address
from elements.admin.panels import ElementPage, Panel
from elements.presentation.labels import Badge, Named, version_number
from elements.presentation.values import plain_value
from elements.reading.assembly.attributes import read_exactly
from elements.reading.assembly.projection import DERIVED
from elements.reading.rows import (
    VersionRow,
    read_identities,
    read_predecessors,
    read_references,
    read_shapes,
    read_versions,
)
from elements.reading.selection import read_page, versions_of
from elements.writing.inputs import SERVER_CONTEXTS
from facets.blueprint.definitions import Property
from repository_site.core.matching import Effort
from repository_site.core.problems import NotFound
from storage.localisation.cultures import INVARIANT_CULTURE
from storage.pages import Fragment


@dataclass(frozen=True, slots=True)
class KnownVersion:
    id: str
    number: str
    state: Badge | None
    changed_on: str
    changed_by: Named | None
    released_on: str
    valid_until: str
    address: str
    is_shown: bool


@dataclass(frozen=True, slots=True)
class VersionComparison:
    old: KnownVersion
    new: KnownVersion
    texts: list[ComparedRow]
    lists: list[ComparedRow]
    shapes: list[ShapeDifference]

    @property
    def is_same(self) -> bool:
        return not (self.texts or self.lists or self.shapes)


def versions_panel(page: ElementPage) -> Fragment:
    audience = page.labels.reader.audience
    rows = read_page(versions_of(audience, page.row.element), None)
    people = page.labels.elements({row.changed_by for row in rows if row.changed_by})
    known = [_known(page, row, people) for row in rows]
    old, new = _picked(page, known)
    context = {
        "page": page,
        "versions": list(reversed(known)),
        "old": old,
        "new": new,
        "comparison": read_comparison(page, old, new) if old and new and old.id != new.id else None,
    }
    return Fragment("back_office/elements/versions.html", context, page.request)


def _known(page: ElementPage, row: VersionRow, people: Mapping[str, Named]) -> KnownVersion:
    labels = page.labels
    return KnownVersion(
        row.version,
        version_number(row.major, row.minor),
        labels.badge(page.type, row.state),
        labels.moment(row.changed_on),
        people.get(row.changed_by or ""),
        labels.moment(row.released_on),
        labels.moment(row.valid_until),
        element_address(row.element, version=row.version),
        row.version == page.row.version,
    )


def _picked(page: ElementPage, known: Sequence[KnownVersion]) -> tuple[KnownVersion | None, KnownVersion | None]:
    """Return the two versions that the address names, older first; by default the shown one and the one before."""
    asked = {page.request.GET.get(name, "") for name in ("old", "new")}
    picked = [each for each in known if each.id in asked]
    if len(picked) < 2:
        place = next((index for index, each in enumerate(known) if each.is_shown), 0)
        picked = list(known[max(place - 1, 0) : place + 1] if place else known[:2])
    return (picked[0], picked[-1]) if picked else (None, None)


def read_comparison(page: ElementPage, old: KnownVersion, new: KnownVersion) -> Callable[[], VersionComparison]:
    """Read both versions in a fixed number of statements, and return the function that finds their differences."""
    rows = read_versions([old.id, new.id])
    if len(rows) < 2:
        raise NotFound(_("One of these versions has just been deleted."))
    pair = rows[old.id], rows[new.id]
    lists_and_shapes = _read_lists_and_shapes(page, *pair)

    @cache
    def compare() -> VersionComparison:
        texts = [each for each in _texts(page, *pair) if each.difference.differs]
        return VersionComparison(old, new, texts, *lists_and_shapes())

    return compare


def _texts(page: ElementPage, old: VersionRow, new: VersionRow) -> Iterator[ComparedRow]:
    labels, effort = page.labels, Effort(settings.COMPARISON_EFFORT)
    for label, texts in (
        (_("Stereotype"), (old.stereotype, new.stereotype)),
        (_("Valid from"), (labels.moment(old.valid_from), labels.moment(new.valid_from))),
        (_("Valid until"), (labels.moment(old.valid_until), labels.moment(new.valid_until))),
    ):
        yield ComparedRow(label, compare_texts(*texts, effort))
    before, after = read_exactly(old.attributes), read_exactly(new.attributes)
    for property in page.type.properties:
        if property.attribute is not None and property.key not in DERIVED:
            for label, lcid in _cultures(labels, property):
                first, second = (
                    plain_value(labels, property.attribute, values.get(property.key, {}).get(lcid))
                    for values in (before, after)
                )
                yield ComparedRow(label, compare_texts(first, second, effort))


def _cultures(labels: OfficeLabels, property: Property) -> Iterator[tuple[str, str]]:
    label = labels.property(property)
    if property.attribute and property.attribute.is_invariant_culture:
        yield label, str(INVARIANT_CULTURE)
    else:
        for culture in labels.cultures:
            yield f"{label} ({culture.name})", str(culture.lcid)


def _read_lists_and_shapes(
    page: ElementPage, old: VersionRow, new: VersionRow
) -> Callable[[], tuple[list[ComparedRow], list[ShapeDifference]]]:
    versions = [old.version, new.version]
    held, shapes = read_references(versions, None), read_shapes(versions)
    targets = {each for contexts in held.values() for found in contexts.values() for each in found}
    targets |= {shape.element for found in shapes.values() for shape in found}
    identities = read_identities(page.labels.reader.audience, targets)
    named = page.labels.elements(targets)

    def items(row: VersionRow, context: str) -> list[Item]:
        found = held.get(row.version, {}).get(context, ())
        return [Item(identities[each].creation, named[each].name) for each in found if each in named]

    flows = read_predecessors([shape.shape for found in shapes.values() for shape in found])

    def drawn(row: VersionRow) -> list[Drawn]:
        keys: dict[str, str] = {}
        seen: dict[str, int] = {}
        for shape in shapes.get(row.version, ()):
            if shape.element in named:
                creation = identities[shape.element].creation
                seen[creation] = seen.get(creation, 0) + 1
                # A number distinguishes shapes that show the same element.
                keys[shape.shape] = f"{creation} {seen[creation]}"
        return [
            Drawn(
                keys[shape.shape],
                named[shape.element].name,
                named[shape.element].type_name,
                frozenset(keys[each] for each in flows.get(shape.shape, ()) if each in keys),
            )
            for shape in shapes.get(row.version, ())
            if shape.shape in keys
        ]

    def compare() -> tuple[list[ComparedRow], list[ShapeDifference]]:
        lists = [
            ComparedRow(page.labels.property(each), compare_lists(items(old, each.key), items(new, each.key)))
            for each in page.type.properties
            if each.related and each.key not in SERVER_CONTEXTS
        ]
        shapes = [each for each in compare_diagrams(drawn(old), drawn(new)) if each.mark is not Mark.SAME]
        return [each for each in lists if each.difference.differs], shapes

    return compare


PANEL = Panel("versions", gettext_lazy("Versions"), versions_panel, lambda page: page.type.is_versioned, order=50)
