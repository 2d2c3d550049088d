"""The versions of an element, and the differences between two of them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.comparison.compared_rows import ComparedRow
from elements.admin.comparison.pictures import compared_drawing, draw_comparison
from elements.admin.labels import OfficeLabels, element_address
from elements.admin.panels import ElementPage, Panel
from elements.comparing.differences import (
    FlowDifference,
    Mark,
    ShapeDifference,
    compare_diagrams,
    compare_flows,
    compare_lists,
    compare_texts,
    compare_values,
)
from elements.comparing.sides import KeyedDiagram, Side, compared_contexts, items, keyed_diagram, read_sides
from elements.presentation.diagrams import DiagramPicture, file_name
from elements.presentation.labels import Badge, Named, version_number
from elements.presentation.stereotypes import read_stereotypes
from elements.presentation.values import plain_value
from elements.reading.assembly.attributes import read_exactly
from elements.reading.assembly.projection import DERIVED
from elements.reading.diagrams.pictures import is_map, name_of
from elements.reading.lists.selection import read_page, versions_of
from elements.reading.names import chosen_name
from elements.reading.rows import Identity, VersionRow, read_versions
from facets.blueprint.definitions import Property
from repository_site.core.matching import Effort
from repository_site.core.problems import NotFound
from storage.localisation.culture_names import language_tag
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
    picture: DiagramPicture | None = None

    @property
    def is_same(self) -> bool:
        return not (self.texts or self.lists or self.shapes or self.picture)


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
        labels.end(row.valid_until),
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
    stereotypes = read_stereotypes(page.labels, [each.stereotype for each in pair])

    @cache
    def compare() -> VersionComparison:
        texts = [each for each in _texts(page, *pair, stereotypes) if each.differs]
        return VersionComparison(old, new, texts, *lists_and_shapes())

    return compare


def _texts(
    page: ElementPage, old: VersionRow, new: VersionRow, stereotypes: Mapping[str, str]
) -> Iterator[ComparedRow]:
    labels, effort = page.labels, Effort(settings.COMPARISON_EFFORT)
    for label, texts in (
        (_("Stereotype"), (stereotypes.get(old.stereotype, ""), stereotypes.get(new.stereotype, ""))),
        (_("Valid from"), (labels.moment(old.valid_from), labels.moment(new.valid_from))),
        (_("Valid until"), (labels.end(old.valid_until), labels.end(new.valid_until))),
    ):
        yield ComparedRow(label, compare_texts(*texts, effort))
    changed = compare_values(read_exactly(old.attributes), read_exactly(new.attributes))
    for property in page.type.properties:
        if property.attribute is not None and property.key not in DERIVED and property.key in changed:
            values = changed[property.key]
            for label, lcid in _cultures(labels, property):
                if lcid in values:
                    pair = values[lcid].old, values[lcid].new
                    first, second = (plain_value(labels, property.attribute, each) for each in pair)
                    yield ComparedRow(label, compare_texts(first, second, effort), is_hidden=first == second)


def _cultures(labels: OfficeLabels, property: Property) -> Iterator[tuple[str, str]]:
    label = labels.property(property)
    if property.attribute and property.attribute.is_invariant_culture:
        yield label, str(INVARIANT_CULTURE)
    else:
        for culture in labels.cultures:
            yield f"{label} ({culture.name})", str(culture.lcid)


def _read_lists_and_shapes(
    page: ElementPage, old: VersionRow, new: VersionRow
) -> Callable[[], tuple[list[ComparedRow], list[ShapeDifference], DiagramPicture | None]]:
    labels, cultures = page.labels, page.labels.configuration.cultures
    sides = read_sides(labels.reader, (old, new))
    named = labels.elements({id for side in sides for id in side.identities})
    titles = {each.key: labels.property(each) for each in page.type.properties}

    def show(identity: Identity) -> tuple[str, str]:
        return named[identity.element].name, named[identity.element].type_name

    def diagram(side: Side) -> KeyedDiagram:
        return keyed_diagram(side, show, lambda label: chosen_name(label, labels.lcid, cultures))

    def compare() -> tuple[list[ComparedRow], list[ShapeDifference], DiagramPicture | None]:
        lists = []
        for context in compared_contexts(page.type):
            before, after = (items(side.targets(context), lambda each: named[each.element].name) for side in sides)
            lists.append(ComparedRow(titles[context], compare_lists(before, after)))
        first, second = map(diagram, sides)
        shapes, flows = compare_diagrams(first.shapes, second.shapes), compare_flows(first.flows, second.flows)
        changed = [each for each in shapes if each.mark is not Mark.SAME]
        is_same = not changed and all(each.mark is Mark.SAME for each in flows)
        picture = None if is_same else _picture(page, shapes, flows, named)
        return [each for each in lists if each.difference.differs], changed, picture

    return compare


def _picture(
    page: ElementPage,
    shapes: Sequence[ShapeDifference],
    flows: Sequence[FlowDifference],
    named: Mapping[str, Named],
) -> DiagramPicture:
    labels = page.labels
    drawing = compared_drawing(shapes, flows, named, is_map(labels.reader, page.row))
    title = name_of(labels.reader, page.row, labels.lcid)
    language = language_tag(labels.lcid)
    return DiagramPicture(
        cache(lambda: draw_comparison(drawing, title, labels.lcid, language)), file_name(f"{title} {_('changes')}")
    )


PANEL = Panel("versions", gettext_lazy("Versions"), versions_panel, lambda page: page.type.is_versioned, order=50)
