"""The data behind the page of one element, read once for all of its tabs and cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, cached_property
from django.utils.translation import gettext as _

from elements.admin.labels import OfficeLabels, labels_of, page_address
from elements.info import ElementStanding, find_standing, reading_standing
from elements.locks import Lock, locking_categories, open_properties
from elements.permissions import Permission, role_permissions
from elements.presentation.labels import Badge, Named, Text, version_number
from elements.presentation.stereotypes import read_stereotypes, reading_stereotypes
from elements.presentation.trees import AddableType
from elements.reading.assembly.assembler import ancestors
from elements.reading.assembly.attributes import read_exactly
from elements.reading.rows import VersionRow, find_version, parents_of, read_parents, read_references, references_of
from facets.blueprint.definitions import ElementType
from facets.blueprint.private_content import TOKEN_TYPE
from facets.configuration import CompiledView
from repository_site.core.database.statements import Reading, ask_all, ask_for, side_by_side
from repository_site.core.problems import NotFound
from repository_site.core.wording import GUID
from storage.access.callers import Caller
from storage.pages import Fragment, caller_of


class ElementPage:
    """One version of an element, as one caller sees it."""

    prepared: Any = None
    """Result of the reading of the chosen tab."""

    def __init__(self, request: HttpRequest, row: VersionRow) -> None:
        self.request = request
        self.labels: OfficeLabels = labels_of(request, row)
        self.caller: Caller = caller_of(request)
        self.row = row
        self.type: ElementType = self.labels.reader.types[row.type]

    @cached_property
    def attributes(self) -> Mapping[str, Mapping[str, Any]]:
        return read_exactly(self.row.attributes)

    def reading(self) -> Reading[None]:
        """Read references, ancestors and rights, and then all elements that the page names."""
        row = self.row
        (references, parents), stereotypes, self.standing = yield from side_by_side(
            ask_all(references_of([row.version], None), parents_of({row.parent} if row.parent else ())),
            reading_stereotypes(self.labels, [row.stereotype]),
            reading_standing(self.labels.reader, self.caller, row),
        )
        self.related = references.get(row.version, {})
        self.parents = list(ancestors(row.parent, parents)) if row.parent else []
        self.stereotype = stereotypes.get(row.stereotype, "")
        self.named = yield from ask_for(self.labels.elements_of(self._named_ids()))

    @cached_property
    def related(self) -> Mapping[str, Sequence[str]]:
        return read_references([self.row.version], None).get(self.row.version, {})

    @cached_property
    def parents(self) -> list[str]:
        """Ids of the ancestors, nearest first."""
        parent = self.row.parent
        return list(ancestors(parent, read_parents({parent}))) if parent else []

    @cached_property
    def named(self) -> Mapping[str, Named]:
        """All elements that the page names, by id: references, ancestors, callers and authors. One statement."""
        return self.labels.elements(self._named_ids())

    def _named_ids(self) -> set[str]:
        row = self.row
        callers = (row.changed_by, row.created_by, row.released_by)
        ids = {each for held in self.related.values() for each in held}
        return ids | {*self.parents, *(each for each in callers if each), *map(str, self.standing.authors)}

    @cached_property
    def standing(self) -> ElementStanding:
        return find_standing(self.labels.reader, self.caller, self.row)

    @cached_property
    def stereotype(self) -> str:
        return read_stereotypes(self.labels, [self.row.stereotype]).get(self.row.stereotype, "")

    @property
    def name(self) -> Text:
        return self.labels.own(self.attributes)

    @property
    def state(self) -> Badge | None:
        return self.labels.badge(self.type, self.row.state)

    @property
    def number(self) -> str:
        return version_number(self.row.major, self.row.minor)

    @property
    def is_newest(self) -> bool:
        return self.row.version == self.row.newest

    @property
    def view(self) -> CompiledView:
        """The view through which elements are changed, as in the API."""
        return self.labels.reader.addresses.detail_view(self.type)

    def address(self, **parameters: str | None) -> str:
        """Return the address of this page for the same version."""
        return self.address_of("elements_element_change", **parameters)

    @property
    def reader_address(self) -> str:
        """Address of the page that readers see."""
        return self.labels.reader.addresses.pages(self.type)[str(self.labels.lcid)] + self.row.version

    @property
    def form_address(self) -> str:
        """Address of this page without parameters, for forms that add their own."""
        return page_address("elements_element_change", self.row.element)

    def address_of(self, name: str, **parameters: str | None) -> str:
        """Return the address of another page about the same version."""
        version = None if self.is_newest else self.row.version
        return page_address(name, self.row.element, version=version, **parameters)

    @cached_property
    def editable(self) -> frozenset[str] | None:
        """The properties that can be changed now; None means all of them."""
        lock, row = self.standing.lock, self.row
        if lock is Lock.NONE:
            return None
        if lock not in (Lock.ALL, Lock.DIAGRAM):
            return frozenset()
        diagrams = [each.category for each in self.standing.drawn]
        return open_properties(self.type, locking_categories(lock, row.category, diagrams))

    @property
    def is_editable(self) -> bool:
        return self.editable is None or bool(self.editable)

    @property
    def can_draw(self) -> bool:
        return self.type.has_diagram and self.standing.lock is Lock.NONE and Permission.EDIT in self.standing.granted

    @property
    def is_deletable(self) -> bool:
        """Whether roles and state allow deleting; the page for deleting lists other obstacles."""
        return self.standing.lock is Lock.NONE and Permission.DELETE in self.standing.granted

    @cached_property
    def addable(self) -> list[AddableType]:
        if Permission.NEW in role_permissions(self.caller, self.type) - self.standing.granted:
            # A permission set denies it.
            return []
        return addable_below(self.labels, makeable_types(self.labels, self.caller), self.type, self.row.element)

    @property
    def path(self) -> list[Named]:
        return [self.named[each] for each in reversed(self.parents) if each in self.named]

    @property
    def type_name(self) -> str:
        return self.labels.type(self.type)

    @property
    def author_names(self) -> str:
        people = (self.named[str(each)].name for each in self.standing.authors if str(each) in self.named)
        return ", ".join(sorted(people))

    @property
    def changers(self) -> str:
        """The people who can change the element while it is in process (D20)."""
        if self.type.is_architectural:
            return _("Architects")
        if self.standing.authors:
            return _("%(authors)s and architects") % {"authors": self.author_names}
        return _("Editors and architects")

    @property
    def lock_text(self) -> str:
        """The reason why the element is read-only; empty if it can be changed."""
        texts = {
            Lock.NONE: "",
            Lock.NEVER: _("Read-only: a permission set does not let you change this element.")
            if Permission.EDIT in role_permissions(self.caller, self.type)
            else _("Read-only: your roles do not allow changing elements."),
            Lock.ARCHITECT: _("Read-only: only architects can change elements of this type."),
            Lock.NOT_CURRENT_USER: _("Read-only: only the authors (%(authors)s) and architects can change it.")
            % {"authors": self.author_names},
            Lock.DIAGRAM: _("Read-only: the element belongs to the diagram of a version that is not in process."),
            Lock.ALL: _("Read-only: this version is not in process."),
        }
        text = texts[self.standing.lock]
        if self.editable:
            names = [self.labels.property(each) for each in self.type.properties if each.key in self.editable]
            text = _("This version is not in process. You can still change: %(names)s.") % {"names": ", ".join(names)}
        return text


def addable_below(
    labels: OfficeLabels, makeable: Sequence[ElementType], type: ElementType, element: str
) -> list[AddableType]:
    types = [each for each in makeable if type.key in each.parents]
    return [AddableType(labels.type(each), each.color, add_address(each.key, element)) for each in types]


def add_address(type: str = "", parent: str = "") -> str:
    given = {name: value for name, value in (("type", type), ("parent", parent)) if value}
    return reverse("admin:elements_element_add") + (f"?{urlencode(given)}" if given else "")


def makeable_types(labels: OfficeLabels, caller: Caller) -> list[ElementType]:
    """Return the types that the caller can create here, without types of diagrams and of tokens."""
    return [
        each
        for each in labels.configuration.types.values()
        if not each.lives_in_diagrams and each.key != TOKEN_TYPE and Permission.NEW in role_permissions(caller, each)
    ]


def find_page(request: HttpRequest, element: str, version: str | None = None) -> ElementPage:
    """Return the page of the newest version or of the named one; `element` can also be the id of a version."""
    wanted = version or element
    labels = labels_of(request)
    row = find_version(labels.reader.audience, wanted) if GUID.fullmatch(wanted) and GUID.fullmatch(element) else None
    if row is None or (version and UUID(element) not in (UUID(row.element), UUID(row.version))):
        raise NotFound(_("This storage has no element %(id)s.") % {"id": wanted[:80]})
    return ElementPage(request, row)


@dataclass(frozen=True, slots=True)
class Panel:
    """A tab. `concerns` decides for which elements it is shown; `read` returns its content. `page.prepared`
    has the result of `reading`, which is read together with the page."""

    key: str
    title: str | Promise
    read: Callable[[ElementPage], Fragment]
    concerns: Callable[[ElementPage], bool] = lambda page: True
    order: int = 50
    reading: Callable[[ElementPage], Reading[Any]] = lambda page: ask_all()
