"""The list of elements, ordered by name: each page takes a fixed number of statements, and the list has no total.

Django's list counts its rows. This one reads the keys of a page and one more, which tells whether another page follows,
and then reads the wide columns for the rows of the page only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, cast
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR
from django.db.models import F, Model, QuerySet, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from elements.admin.bulk.pages import begin_action
from elements.admin.columns import AttributeColumn, PersonName, attribute_columns, offered_attributes, values_of
from elements.admin.detail import element_view
from elements.admin.editing.views import add_view, delete_view
from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.listing.bounded_lists import BoundedList
from elements.admin.listing.filters import element_filters
from elements.admin.saved_lists import chosen_columns, saved_lists
from elements.admin.searching import BY_NAME, MOST_HITS, FoundElements, listed_elements, search
from elements.derived import AUTHOR_CONTEXTS
from elements.models import Element, SavedList
from elements.permissions import READING, ROLE_PERMISSIONS, Permission, granted_to
from elements.presentation.labels import Named, version_number
from elements.reading.names import version_names_of
from elements.reading.rows import VersionRow, references_of, row_columns
from elements.sizes.counting import OWNER
from elements.tables.formats import TableFormat
from elements.writing.writers import can_change
from facets.blueprint.definitions import ElementType
from repository_site.core.database.statements import Reading, ask_for, id_array, read_together, rows_of
from repository_site.core.wording import clean_text
from storage.back_office import NavigationEntry, NavigationGroup, StorageModelAdmin, storage_office
from storage.pages import caller_of

PAGE_SIZE = 50
CHANGERS = frozenset(role for role, granted in ROLE_PERMISSIONS.items() if not granted <= READING)
# Versions in the order of their numbers.
NUMBER = F("newest__major") * Value(1_000_000) + F("newest__minor")
LONGEST_NAME = 120
# A template would be rendered again for each row.
NAME_MARKUP = (
    '<span class="el-row"><svg class="el-type-dot" viewBox="0 0 10 10" aria-hidden="true">'
    '<circle cx="5" cy="5" r="5" fill="{color}"/></svg><span><span class="el-name">{name}</span>'
    '<span class="el-type-text">{type}</span></span></span>'
)


@dataclass(frozen=True, slots=True)
class ListedElement:
    """One row: the newest version, with the end of the released one."""

    name: str
    type: ElementType
    type_name: str
    facet: str
    state: SafeString
    number: str
    authors: tuple[Named, ...]
    valid_until: str
    changed_on: str
    changed_at: str
    owners: tuple[Named, ...]
    created_on: str
    valid_from: str
    values: Mapping[str, str]
    """Texts of the attributes that are columns."""


class ElementList(BoundedList):
    found: FoundElements | None = None
    """Elements that the search text finds."""

    can_change = False

    def get_ordering_field(self, field_name: Any) -> Any:
        # The column of types has the name of a field, which Django would prefer.
        column = field_name if callable(field_name) else getattr(self.model_admin, field_name, None)
        return getattr(column, "admin_order_field", None)

    def get_results(self, request: HttpRequest) -> None:
        if not self.model_admin.reads_rows:
            return
        self.can_change = can_change(caller_of(request))
        labels, size, start = labels_of(request), self.list_per_page, self.start
        if text := clean_text(self.query):
            self.found = self._search(labels, text, start + size + 1)
            ids = self.found.ids[start : start + size + 1]
        else:
            ids = self.page_of(request)
        shown = [each for each in self.list_display if isinstance(each, AttributeColumn)]
        attributes = [each.key for each in shown]
        rows, self.saved, _badges = read_together(
            list_rows(labels, ids[:size], attributes),
            ask_for(saved_lists(request)),
            storage_office.reading_badges(request),
        )
        self.show(rows, has_next=len(ids) > size)
        self.show_admin_actions = bool(self.model_admin.get_actions(request))
        admin = self.model_admin
        titles = {key: str(getattr(admin, key).short_description) for key in admin.known_columns}
        self.columns = [(key, title, key in self.list_display) for key, title in titles.items()]
        self.attributes = offered_attributes(request, attributes)

    def all_elements(self, labels: OfficeLabels) -> Sequence[UUID] | None:
        """Return the elements of all pages; None without a search, when `queryset` has them."""
        text = clean_text(self.query)
        return self._search(labels, text).ids if text else None

    def _search(self, labels: OfficeLabels, text: str, most: int = MOST_HITS) -> FoundElements:
        """Return what the text finds, by relevance or in the order that the user has chosen. If only types narrow the
        list, read at most this number of hits."""
        if ORDER_VAR in self.params:
            return search(labels.reader, self.queryset, text, is_sorted=True)
        if any(spec.passing_types() is None for spec in self.filter_specs):
            return search(labels.reader, self.queryset, text)
        types = [str(labels.configuration.type_ids[key]) for key in self.possible_types()]
        return search(labels.reader, self.queryset, text, types, most=most)

    @property
    def bulk_address(self) -> str:
        """The page that changes all elements of this list; empty without the right to change any."""
        return (
            f"{reverse('admin:elements_bulk')}{self.get_query_string()}"
            if self.show_admin_actions and (self.result_list or self.next_after)
            else ""
        )

    saved: Sequence[SavedList] = ()
    columns: Sequence[tuple[str, str, bool]] = ()
    """Key and title of each column, and whether it is shown."""
    attributes: Sequence[tuple[str, str, bool]] = ()
    """The same for attributes."""

    @property
    def list_query(self) -> str:
        """The query string of this list."""
        return str(self.get_query_string()).removeprefix("?")

    @property
    def suggestion_address(self) -> str:
        """The address of the list for the similar text that finds something."""
        suggestion = self.found.suggestion if self.found else ""
        return str(self.get_query_string({SEARCH_VAR: suggestion}))

    @property
    def table_addresses(self) -> list[tuple[str, str]]:
        """Name and address of each table with the elements of this list."""
        query = self.get_query_string()
        return [(each.value, reverse("admin:elements_table", args=[each.value]) + query) for each in TableFormat]

    @property
    def import_address(self) -> str:
        """The address of the import; empty if the user cannot change anything."""
        return reverse("admin:elements_import_table") if self.can_change else ""

    @property
    def active_filters(self) -> list[tuple[str, str, str]]:
        """Title and value of each active filter, and the address of the list without it."""
        found = []
        for spec in self.filter_specs:
            if value := spec.value():
                text = dict(spec.lookup_choices).get(value, value)
                found.append((str(spec.title), text, self.get_query_string({spec.parameter_name: None})))
        return found


def list_rows(labels: OfficeLabels, ids: Sequence[UUID], attributes: Sequence[str] = ()) -> Reading[list[Element]]:
    """Read any number of rows in three rounds, in the order of the ids."""
    sql = f"""SELECT {row_columns("NULL")} FROM elements_element e
        CROSS JOIN LATERAL unnest(ARRAY[e.newest_id, e.published_id]) AS shown(id)
        JOIN elements_elementversion v ON v.id = shown.id WHERE e.id = ANY(%s::uuid[])"""  # noqa: S608  constants
    found_rows = yield from rows_of(sql if ids else "", [id_array(str(each) for each in ids)])
    rows = {row[3]: VersionRow(*row) for row in found_rows}
    by_element = {row.element: row for row in rows.values() if row.version == row.newest}
    # Skip elements that were deleted since their ids were read.
    newest = [by_element[str(each)] for each in ids if str(each) in by_element]
    names, held, values = yield [
        version_names_of([row.version for row in newest]),
        references_of([row.version for row in newest], (*AUTHOR_CONTEXTS, OWNER)),
        values_of(labels, newest, attributes),
    ]
    people = yield from ask_for(
        labels.elements_of(target for contexts in held.values() for found in contexts.values() for target in found)
    )
    facets = {each.name: labels.facet(each.name) for each in labels.configuration.blueprint.facets}
    found = []
    for row in newest:
        element = Element(id=UUID(row.element))
        type = labels.reader.types[row.type]
        contexts = held.get(row.version, {})
        element.listed = ListedElement(  # type: ignore[attr-defined]  # for the columns
            name=labels.name(names.get(row.version, {})),
            type=type,
            type_name=labels.type(type),
            facet=facets[type.facet],
            state=labels.state_markup(labels.badge(type, row.state)),
            number=version_number(row.major, row.minor),
            authors=_named(people, contexts, *AUTHOR_CONTEXTS),
            valid_until=labels.day(rows.get(row.published or "", row).valid_until),
            changed_on=labels.day(row.changed_on),
            changed_at=labels.moment(row.changed_on),
            owners=_named(people, contexts, OWNER),
            created_on=labels.day(row.created_on),
            valid_from=labels.day(row.valid_from),
            values=values.get(row.version, {}),
        )
        found.append(element)
    return found


def _named(people: Mapping[str, Named], contexts: Mapping[str, Sequence[str]], *names: str) -> tuple[Named, ...]:
    """Return the targets of these contexts that the user may see."""
    return tuple(people[each] for name in names for each in contexts.get(name, ()) if each in people)


def _row(element: Element) -> ListedElement:
    return cast("ListedElement", element.listed)  # type: ignore[attr-defined]  # set by list_rows


@admin.register(Element, site=storage_office)
class ElementAdmin(StorageModelAdmin):
    """The list of elements; `detail` and `editing` have the other pages."""

    list_display = ("name", "facet", "state", "version", "authors", "valid_until", "changed_on")
    known_columns = (
        "name", "facet", "type", "state", "version", "authors", "owner", "created_on", "valid_from", "valid_until",
        "changed_on", "element_id",
    )  # fmt: skip
    list_per_page = PAGE_SIZE
    list_fullwidth = True
    has_plain_cells = True
    search_fields = ("newest__sort_name",)
    search_help_text = _("Words, or an id")
    ordering = BY_NAME
    show_facets = admin.ShowFacets.NEVER
    show_add_link = True
    reads_rows = True
    """Whether a list reads the rows of its page."""
    list_before_template = "back_office/elements/above_list.html"
    list_after_template = "back_office/elements/below_list.html"

    class Media:
        css: ClassVar[dict[str, Any]] = {"all": ("back_office/elements.css",)}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Element]:
        return listed_elements(labels_of(request).reader.audience)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Element], search_term: str
    ) -> tuple[QuerySet[Element], bool]:
        """Leave searching to `ElementList`."""
        return queryset, False

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ElementList]:
        return ElementList

    def whole_list(self, request: HttpRequest) -> ElementList:
        """Return the list that the address of a request describes, without reading rows."""
        # Unfold stores the request on the instance, which all threads share.
        admin = copy(self)
        admin.reads_rows = False
        return cast("ElementList", admin.get_changelist_instance(request))

    def get_list_display(self, request: HttpRequest) -> tuple[Any, ...]:
        return *chosen_columns(request, self.known_columns, self.list_display), *attribute_columns(request)

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return element_filters()

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        if granted_to(caller_of(request)) <= READING:
            return {}
        return {"change_in_bulk": (begin_action, "change_in_bulk", _("Change selected elements"))}

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return Permission.NEW in granted_to(caller_of(request))

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return Permission.EDIT in granted_to(caller_of(request))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        return element_view(request, object_id)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        return add_view(request)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        return delete_view(request, object_id)

    @display(description=_("Name"), ordering="newest__sort_name")
    def name(self, element: Element) -> SafeString:
        row = _row(element)
        shown = Truncator(row.name).chars(LONGEST_NAME) if len(row.name) > LONGEST_NAME else row.name
        return format_html(NAME_MARKUP, color=row.type.color, name=shown, type=row.type_name)

    @display(description=_("Facet"), ordering="type__facet__position")
    def facet(self, element: Element) -> str:
        return _row(element).facet

    @display(description=_("Type"), ordering="type__position")
    def type(self, element: Element) -> str:
        return _row(element).type_name

    @display(description=_("State"), ordering="newest__state")
    def state(self, element: Element) -> SafeString:
        return _row(element).state

    @display(description=_("Version"), ordering=NUMBER)
    def version(self, element: Element) -> str:
        return _row(element).number

    @display(description=_("Authors"), ordering=PersonName(AUTHOR_CONTEXTS))
    def authors(self, element: Element) -> str:
        return ", ".join(each.name for each in _row(element).authors)

    @display(description=_("Owner"), ordering=PersonName([OWNER]))
    def owner(self, element: Element) -> str:
        return ", ".join(each.name for each in _row(element).owners)

    @display(description=_("Created on"), ordering="newest__created_on")
    def created_on(self, element: Element) -> str:
        return _row(element).created_on

    @display(description=_("Valid from"), ordering="newest__valid_from")
    def valid_from(self, element: Element) -> str:
        return _row(element).valid_from

    @display(description=_("Id"), ordering="id")
    def element_id(self, element: Element) -> str:
        return str(element.id)

    @display(description=_("Valid until"), ordering=Coalesce("published__valid_until", "newest__valid_until"))
    def valid_until(self, element: Element) -> str:
        return _row(element).valid_until

    @display(description=_("Changed on"), ordering="newest__changed_on")
    def changed_on(self, element: Element) -> SafeString:
        row = _row(element)
        return format_html('<span title="{}">{}</span>', row.changed_at, row.changed_on)


storage_office.add_navigation(
    NavigationEntry(NavigationGroup.CONTENT, _("Elements"), "list", "elements_element_changelist"),
    NavigationEntry(NavigationGroup.CONTENT, _("Bulk changes"), "checklist", "elements_bulk_runs", CHANGERS),
)
