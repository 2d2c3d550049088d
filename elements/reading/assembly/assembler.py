"""Builds elements in wire form from rows (D8, D9, D10): plain dictionaries with their keys in the order of
responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import orjson
from django.utils.functional import cached_property

from elements import derived
from elements.naming import NAME
from elements.reading import rows
from elements.reading.assembly.attributes import AttributeWriter, Values, without_author_note
from elements.reading.assembly.links import NO_LINKS, ReferenceLinks, ask_links, finding_links, read_links
from elements.reading.assembly.projection import (
    ATTRIBUTES,
    CHILDREN,
    CONTENT,
    DISPLAY_NAMES,
    RELATED,
    ROOT_PATH,
    VALUES,
    VERSIONS,
    Projection,
    Wanted,
    view_projection,
    whole_projection,
)
from elements.reading.assembly.reference_fields import NO_EXTRAS, Extras, ReferenceFields
from elements.reading.assembly.references import ReferenceWriter
from elements.reading.assembly.response_addresses import DETAIL, Addresses
from elements.reading.bounds import REFERENCE_BYTES, Slices, check_response, halved, most_rows, most_text
from elements.reading.content_state import NO_STATE, ContentState
from elements.reading.identities import Identities, Texts
from elements.reading.names import ByCulture
from elements.reading.rows import Audience, Identity, ShapeRow, VersionRow
from facets.blueprint.definitions import ElementType
from facets.configuration import CompiledView, Configuration
from repository_site.core.database.statements import Inquiry, Reading
from repository_site.core.rest.rendering import to_json

Wire = dict[str, Any]
# Parts that are references, beside related contexts.
REFERENCE_PARTS = frozenset({CHILDREN, CONTENT, ROOT_PATH, VERSIONS})
NOT_ASKED: Mapping[str, Extras] = {}
Part = list[Wire] | orjson.Fragment | Slices | None
# Nested related maps of expanded references, by the version of the target.
Expansions = Mapping[str, Mapping[str, list[Wire]]]


@dataclass(frozen=True)
class Reader:
    """Audience and storage of a request, and the way responses name things; the same for everything in one request."""

    configuration: Configuration
    audience: Audience
    zone: ZoneInfo
    storage_address: str
    state: ContentState = NO_STATE
    """State of the content, if known; lets other requests use what this one reads."""
    others: Configuration | None = None
    """Configuration of the targets of references, if `configuration` is for one element only (D399)."""
    cultures: tuple[int, ...] = ()
    """The culture of plain values, then its fallbacks (D482); empty for values by culture."""

    @property
    def nested(self) -> Configuration:
        return self.others or self.configuration

    def hides_changes(self, type: str) -> bool:
        """Return whether the reader must not notice changes of elements of a type (D398)."""
        return not self.audience.sees_drafts and type in self.configuration.partial

    @cached_property
    def identities(self) -> Identities:
        return Identities(self.audience, self.state, str(self.configuration.revision))

    @cached_property
    def addresses(self) -> Addresses:
        return Addresses(self.configuration, self.storage_address)

    @cached_property
    def writer(self) -> AttributeWriter:
        return AttributeWriter(self.addresses, self.zone, self.cultures)

    @cached_property
    def types(self) -> Mapping[str, ElementType]:
        return self.configuration.types_by_id

    def identity(self, of: Identity | VersionRow) -> Wire:
        type = self.types[of.type]
        found: Wire = {"facetName": type.facet, "id": of.element}
        if type.is_versioned:
            found["versionId"] = of.version
            found["type"] = type.key
            found["state"] = of.state
        else:
            found["creationId"] = of.creation
            found["type"] = type.key
        if of.stereotype:
            found["stereotype"] = of.stereotype
        return found

    def address(self, prefix: str, of: Identity) -> str:
        return prefix + (of.version if self.types[of.type].is_versioned else of.element)

    def reference(self, to: Identity, prefix_of: Callable[[ElementType], str] | None = None) -> Wire:
        """Return a reference to an element. Its address begins with the prefix of its type."""
        prefix = (prefix_of or self.addresses.detail)(self.types[to.type])
        return {**self.identity(to), "expandUri": self.address(prefix, to)}

    def named_reference(self, to: Identity, names: ByCulture) -> Wire:
        """Return a reference to an element, with its names."""
        found = self.reference(to)
        return {**found, ATTRIBUTES: {NAME: names}} if names else found


@dataclass(frozen=True, slots=True)
class Gathered:
    links: ReferenceLinks
    children: Mapping[str, Sequence[Identity]]
    shapes: Mapping[str, Sequence[ShapeRow]]
    parents: Mapping[str, str | None]
    expansions: Expansions
    below: Mapping[str, VersionRow] = field(default_factory=dict)
    """For reporting: children and content by version, and their references."""
    links_below: ReferenceLinks = NO_LINKS
    extras: Mapping[str, Extras] = field(default_factory=lambda: NOT_ASKED)
    """Fields of references, by context or part."""

    def drawn(self, row: VersionRow) -> list[Identity]:
        """Return the elements that the diagram of a version shows, as far as the reader may see them."""
        identities = self.links.identities
        shapes = self.shapes.get(row.version, ())
        return [identities[shape.element] for shape in shapes if shape.element in identities]


class Assembler:
    """Builds elements as a view shows them, operations 3, 4, 9 and 13."""

    leads_to: ClassVar[str] = DETAIL
    """Kind of address that references have."""
    in_slices = False
    """Whether parts that multiply, such as expanded references, are read while they are written (D188)."""

    def __init__(self, reader: Reader, view: CompiledView, wanted: Wanted) -> None:
        self.reader = reader
        self.view = view
        self.wanted = wanted
        self.projection = view_projection(reader.configuration, view, wanted)
        self.fields = ReferenceFields(reader, wanted)
        # Functions of the reader: a writer that refers to this assembler would be a reference cycle (D211).
        self.reference = partial(reader.reference, prefix_of=reader.addresses.leading_to(self.leads_to))
        self.writer = ReferenceWriter(self.reference)
        self.writer_in_view = ReferenceWriter(partial(reader.reference, prefix_of=self.prefix_in_view(reader, view)))
        # Values of one batch by version, and references by element.
        self._attributes: dict[str, dict[str, Values]] = {}
        self._texts: Texts = {}

    @staticmethod
    def prefix_in_view(reader: Reader, view: CompiledView) -> Callable[[ElementType], str]:
        """Return the function for addresses of children, ancestors and versions."""
        address = reader.addresses.view(view)
        return lambda type: address

    @property
    def needs_attributes(self) -> bool:
        return self.projection.stored

    def elements(self, batch: Sequence[VersionRow]) -> list[Wire]:
        return list(self.iterate(batch))

    def iterate(self, batch: Sequence[VersionRow]) -> Iterator[Wire]:
        """Read everything that the elements need at once, then build them one by one: together they may need more
        memory than what they are built from."""
        batch = self._complete(batch)
        # The database reads everything else meanwhile.
        gathered = self.gather(batch, lambda: self._begin(batch))
        return (self._element(row, gathered) for row in batch)

    def _begin(self, batch: Sequence[VersionRow]) -> None:
        """Do the work that needs only the rows, and take the texts of references that are cached."""
        if ATTRIBUTES in self.wanted.resources:
            write, types = self.reader.writer.with_author_note, self.projection.types
            self._attributes = {row.version: write(row, types[row.type]) for row in batch}
        self.writer.begin()
        self.writer_in_view.begin()
        reader = self.reader
        # The configuration and the address of the storage decide about the addresses of references.
        self._texts = reader.identities.texts((reader.configuration.revision, reader.storage_address, self.leads_to))

    def _complete(self, batch: Sequence[VersionRow]) -> Sequence[VersionRow]:
        """Read the attributes that the response shows, of a version whose attributes are too long together."""
        if not self.needs_attributes or len(batch) != 1 or batch[0].attributes is not None:
            return batch
        only = self.projection.types[batch[0].type].stored
        return list(rows.read_versions([batch[0].version], only=only, most=most_text(1)).values())

    def gather(self, batch: Sequence[VersionRow], meanwhile: Callable[[], None] | None = None) -> Gathered:
        resources, audience = self.wanted.resources, self.reader.audience
        elements = list(dict.fromkeys(row.element for row in batch))
        above = {row.parent for row in batch if row.parent} if ROOT_PATH in resources else set()
        inquiry = Inquiry()
        children = inquiry.add(rows.children_of(audience, elements if CHILDREN in resources else (), self.child_types))
        shapes = inquiry.add(rows.shapes_of(self._drawn(batch) if CONTENT in resources else ()))
        parents = inquiry.add(self.reader.identities.parents_of(above))
        links = ask_links(inquiry, self.reader.identities, batch, self.projection, all_versions=VERSIONS in resources)
        inquiry.ask(meanwhile)
        drawn, path = shapes(), parents()
        found = links({shape.element for each in drawn.values() for shape in each} | path.keys())
        gathered = Gathered(found, children(), drawn, path, self._expand(batch, found))
        if not self.fields or self.in_slices:
            return gathered
        return replace(gathered, extras=self.fields.read(self._referenced(batch, gathered), most_text(len(batch))))

    def gathering(self, batch: Sequence[VersionRow]) -> Reading[Gathered]:
        """Gather the parts that are references or shapes, without expansions and fields, as pages need them."""
        resources = self.wanted.resources
        above = {row.parent for row in batch if row.parent} if ROOT_PATH in resources else set()
        inquiry = Inquiry()
        shapes = inquiry.add(rows.shapes_of(self._drawn(batch) if CONTENT in resources else ()))
        parents = inquiry.add(self.reader.identities.parents_of(above))
        links = finding_links(inquiry, self.reader.identities, batch, self.projection)
        yield from inquiry.asking()
        drawn, path = shapes(), parents()
        found = yield from links({shape.element for each in drawn.values() for shape in each} | path.keys())
        return Gathered(found, {}, drawn, path, {})

    def _referenced(self, batch: Sequence[VersionRow], gathered: Gathered) -> dict[str, list[Identity]]:
        """Return the targets of all references that have fields."""
        found: dict[str, list[Identity]] = {}
        for row in batch:
            places: dict[str, Iterable[Identity]] = {**gathered.links.related(row, self.contexts_of(row))}
            for part in REFERENCE_PARTS & self.wanted.resources:
                # A related context may have the name of a part.
                places[part] = [*places.get(part, ()), *self._part(part, row, gathered)]
            for place, targets in places.items():
                if self.fields.of(place):
                    found.setdefault(place, []).extend(targets)
        return found

    def _part(self, part: str, row: VersionRow, gathered: Gathered) -> Iterable[Identity]:
        if part == CHILDREN:
            return gathered.children.get(row.element, ())
        if part == CONTENT:
            return gathered.drawn(row)
        if part == ROOT_PATH:
            return self._root_path(row, gathered)
        return (each.identity for each in gathered.links.known.get(row.element, ()))

    @cached_property
    def child_types(self) -> list[str]:
        """Elements that live only in diagrams are content, not children."""
        types = self.reader.types
        return [each for each in self.projection.shows if not types[each].lives_in_diagrams]

    def _drawn(self, batch: Sequence[VersionRow]) -> list[str]:
        types = self.reader.types
        return [row.version for row in batch if types[row.type].has_diagram]

    def _expand(self, batch: Sequence[VersionRow], links: ReferenceLinks) -> Expansions:
        if not self.wanted.expand or self.in_slices:
            return {}
        targets = Counter(
            target.version
            for row in batch
            for context, found in links.related(row, self.contexts_of(row)).items()
            if context in self.wanted.expand
            for target in found
        )
        return self._expansions(targets, most_rows(len(batch)))

    def _expansions(self, targets: Mapping[str, int], most: int | None = None) -> Expansions:
        return expand(self.reader, targets, most=most, names=self.fields.names if self.wanted.names else None)

    def contexts_of(self, row: VersionRow) -> Sequence[str]:
        return self.projection.types[row.type].contexts

    def _element(self, row: VersionRow, gathered: Gathered) -> Wire:
        resources, shown = self.wanted.resources, self.projection.types[row.type]
        found = self.reader.identity(row)
        if DISPLAY_NAMES in resources:
            found |= self._display_names(shown.display_names)
        if ATTRIBUTES in resources:
            attributes = self._attributes.pop(row.version)
            if not gathered.links.has_authors(row):
                without_author_note(attributes)
            self.add_attributes(found, attributes)
        if RELATED in resources:
            add_part(found, RELATED, self.related(row, gathered))
        if CHILDREN in resources:
            add_part(found, CHILDREN, self.children(row, gathered))
        if CONTENT in resources:
            add_part(found, CONTENT, self.content(row, gathered))
        if ROOT_PATH in resources:
            add_part(found, ROOT_PATH, self.written_part(ROOT_PATH, row, gathered))
        if VERSIONS in resources:
            add_part(found, VERSIONS, self.written_part(VERSIONS, row, gathered))
        return found

    def _display_names(self, names: Mapping[str, str]) -> Wire:
        cultures = self.reader.cultures
        return {"displayName": names[str(cultures[0])]} if cultures else {"displayNames": names}

    def add_attributes(self, element: Wire, attributes: Mapping[str, Any]) -> None:
        add_part(element, VALUES if self.reader.cultures else ATTRIBUTES, attributes)

    def related(self, row: VersionRow, gathered: Gathered) -> Wire:
        if not (self.wanted.expand or self.fields):
            return self.writer.related(row, self.projection.types[row.type], gathered.links, self._texts)
        related = gathered.links.related(row, self.contexts_of(row))
        return self.references(related, gathered.expansions, gathered.extras)

    def references(
        self,
        related: Mapping[str, Sequence[Identity]],
        expansions: Expansions,
        extras: Mapping[str, Extras] = NOT_ASKED,
    ) -> Wire:
        found: Wire = {}
        for context, targets in related.items():
            if context in self.wanted.expand and self.in_slices:
                found[context] = Slices(self._expanded_slices(context, targets))
            elif context in self.wanted.expand:
                own = extras.get(context, NO_EXTRAS)
                found[context] = [self.expanded(target, expansions, own) for target in targets]
            else:
                found[context] = self._written(self.writer, context, targets, extras)
        return found

    def _expanded_slices(self, context: str, targets: Sequence[Identity]) -> Iterator[bytes]:
        def read(few: Sequence[Identity]) -> tuple[Sequence[Identity], Expansions, Extras]:
            return few, self._expansions(Counter(each.version for each in few)), self._extras(context, few)

        for few, expansions, extras in halved(targets, read):
            for target in few:
                yield to_json(self.expanded(target, expansions, extras))

    def _extras(self, place: str, targets: Sequence[Identity]) -> Extras:
        return self.fields.read({place: targets}, most_text(len(targets)))[place] if self.fields.of(place) else {}

    def _written(
        self, writer: ReferenceWriter, place: str, targets: Sequence[Identity], extras: Mapping[str, Extras]
    ) -> Part:
        if not (self.in_slices and targets and self.fields.of(place)):
            return writer.references(targets, extras.get(place, NO_EXTRAS))
        few = halved(targets, lambda few: (few, self._extras(place, few)))
        return Slices(writer.text(each, own).encode() for some, own in few for each in some)

    def written_part(self, part: str, row: VersionRow, gathered: Gathered) -> Part:
        writer = self.writer if part == CONTENT else self.writer_in_view
        return self._written(writer, part, [*self._part(part, row, gathered)], gathered.extras)

    def expanded(self, target: Identity, expansions: Expansions, extras: Extras) -> Wire:
        """An expanded reference contains what its address would return, so it has no address."""
        found = self.reader.identity(target)
        if target.version in extras:
            found |= extras[target.version].wire
        add_part(found, RELATED, expansions.get(target.version))
        return found

    def children(self, row: VersionRow, gathered: Gathered) -> Part:
        return self.written_part(CHILDREN, row, gathered)

    def content(self, row: VersionRow, gathered: Gathered) -> Part:
        return self.written_part(CONTENT, row, gathered)

    def _root_path(self, row: VersionRow, gathered: Gathered) -> Iterable[Identity]:
        """Return ancestors, nearest first, without those that the view does not contain or the reader must not see."""
        for element in ancestors(row.parent, gathered.parents):
            identity = gathered.links.identities.get(element)
            if identity is not None and identity.type in self.projection.shows:
                yield identity


def ancestors(parent: str | None, parents: Mapping[str, str | None]) -> Iterable[str]:
    while parent is not None and parent in parents:
        yield parent
        parent = parents[parent]


def add_part(element: Wire, name: str, part: Any) -> None:
    """Leave out empty parts (D8)."""
    if part:
        element[name] = part


def expand(
    reader: Reader,
    versions: Mapping[str, int],
    *,
    with_attributes: bool = False,
    most: int | None = None,
    names: Callable[[Collection[Identity], int], Extras] | None = None,
) -> Expansions:
    """Return the related maps of targets, which are given with the number of references to each. Their references have
    no address; in operation 8 they have attributes instead, elsewhere their `names` if the request asks for them."""
    whole = whole_projection(reader.nested)
    found = rows.read_versions(sorted(versions), with_attributes=False)
    links = read_links(reader.identities, list(found.values()), whole, most)
    related = {version: links.related(row, whole.types[row.type].contexts) for version, row in found.items()}
    innermost = {target for contexts in related.values() for targets in contexts.values() for target in targets}
    attributes = _attributes(reader, innermost, whole) if with_attributes else {}
    opened = [each for each in innermost if reader.audience.can_open(each)]
    named = names(opened, most_text(max(1, len(versions)))) if names else NO_EXTRAS
    wire: dict[str, Wire] = {}
    for target in innermost:
        wire[target.version] = reader.identity(target)
        add_part(wire[target.version], ATTRIBUTES, attributes.get(target.version))
        if target.version in named:
            wire[target.version] |= named[target.version].wire
    has_values = with_attributes or names is not None
    sizes = {version: len(to_json(each)) for version, each in wire.items()} if has_values else {}
    # A response repeats the map of a target for each reference to it.
    check_response(
        sum(
            versions[version] * sizes.get(target.version, REFERENCE_BYTES)
            for version, contexts in related.items()
            for targets in contexts.values()
            for target in targets
        )
    )
    return {
        version: {context: [wire[target.version] for target in targets] for context, targets in contexts.items()}
        for version, contexts in related.items()
    }


def _attributes(reader: Reader, targets: Iterable[Identity], whole: Projection) -> dict[str, Wire]:
    wanted = [target.version for target in targets]
    found = rows.read_versions(wanted, most=most_text(len(wanted)))
    authors = rows.read_references(list(found), derived.AUTHOR_CONTEXTS)
    return {
        version: reader.writer.attributes(row, whole.types[row.type], has_authors=version in authors)
        for version, row in found.items()
    }
