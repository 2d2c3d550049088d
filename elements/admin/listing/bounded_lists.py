"""Lists whose pages skip, test and sort a bounded number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.paginator import InfinitePaginator
from unfold.views import ChangeList

from elements.admin.labels import labels_of
from elements.admin.searching import BY_NAME, elements_open_to
from elements.models import Element, ElementVersion
from elements.reading.lists.portions import Portion, read_portion
from repository_site.core.database.statements import fetch
from repository_site.core.wording import GUID

# The version after which the page begins, if it shows a portion (D650).
AFTER = "after"
# Larger page numbers would overflow in the database.
MAX_PAGE = 10_000_000
# Skipping the elements before this page takes as long as showing them.
LAST_PAGE = 200
UP, DOWN = BY_NAME[0], f"-{BY_NAME[0]}"
# Orders that an index provides. Other orders are possible for at most so many elements.
BY_INDEX = {
    f"{sign}{name}"
    for name in (UP, "newest__changed_on", "newest__created_on", "newest__valid_from", "id")
    for sign in ("", "-")
}
MOST_SORTED = 5_000


class ListPaginator(InfinitePaginator):
    template_name = "back_office/elements/pagination.html"


class UncountedList(ChangeList):
    has_next = False
    last_page = MAX_PAGE
    is_last = False
    """Whether no page follows, although there are more rows."""

    @property
    def start(self) -> int:
        self.page_num: int = min(max(self.page_num, 1), self.last_page)
        return (self.page_num - 1) * int(self.list_per_page)

    @property
    def kept_parameters(self) -> list[tuple[str, str]]:
        """Names and values in the address that no filter has, for the form of the filters. The place in the list is not
        kept: the next list begins at its start."""
        used = {name for spec in self.filter_specs for name in spec.used_parameters}
        return [(name, values[-1]) for name, values in self.filter_params.items() if name not in used]

    def show(self, rows: list[Any], *, has_next: bool) -> None:
        self.is_last = self.page_num == self.last_page and has_next
        self.result_list, self.has_next = rows, has_next and not self.is_last
        # The templates need these numbers, although nothing is counted.
        self.result_count = self.full_result_count = len(rows)
        self.show_full_result_count = self.can_show_all = self.multi_page = self.show_admin_actions = False
        self.paginator = ListPaginator(rows, self.list_per_page)


class BoundedList(UncountedList):
    """A list of elements. A page tests and sorts a bounded number of them, whatever the size of the storage (D650)."""

    queryset: QuerySet[Element]
    portion: Portion | None = None
    """The versions that the page tests, if no index answers its filters."""

    last_page = LAST_PAGE
    too_many = ""
    """The number of elements for which the order that was chosen is possible, if the list has more."""

    next_after = ""
    """The version after which the next portion begins."""

    def get_filters_params(self, params: dict[str, Any] | None = None) -> dict[str, Any]:
        # Like the number of the page, it does not belong to the address of the list.
        self.filter_params.pop(AFTER, None)
        return cast("dict[str, Any]", super().get_filters_params(params))

    def page_of(self, request: HttpRequest) -> list[UUID]:
        """Return the elements of the page, and one more if another page follows. It tests and sorts a bounded number of
        elements, whatever the size of the storage (D650)."""
        shown, order = self.queryset, self.queryset.query.order_by[0]
        tested = [number for spec in self.filter_specs if (number := spec.most_tested())]
        if tested or order not in BY_INDEX or any(spec.is_narrow() for spec in self.filter_specs):
            most = min([*tested, MOST_SORTED])
            if self._has_at_most(request, most):
                # Without a limit: with one, the database would look for the first matches in the order of all names.
                return self._slice(list(shown.values_list("id", flat=True)))
            if order not in BY_INDEX or (tested and order not in (UP, DOWN)):
                # Exports and bulk changes keep the order.
                self.too_many, shown, order = f"{most}", shown.order_by(*BY_NAME), UP
        if tested:
            return self._portion_of(request, shown, min(tested), is_descending=order == DOWN)
        return self._slice(shown.values_list("id", flat=True))

    def _slice(self, ids: Sequence[UUID] | QuerySet[Element, UUID]) -> list[UUID]:
        return list(ids[self.start : self.start + self.list_per_page + 1])

    def _has_at_most(self, request: HttpRequest, most: int) -> bool:
        """Whether the other filters leave at most so many elements."""
        others = self._without_order(request, [spec for spec in self.filter_specs if not spec.most_tested()])
        return others[: most + 1].count() <= most

    def _without_order(self, request: HttpRequest, filters: Sequence[Any]) -> QuerySet[Element]:
        """Return the elements that pass the filters, without the join for the order of the list."""
        found = elements_open_to(labels_of(request).reader.audience)
        for spec in filters:
            found = spec.queryset(request, found)
        return found

    def count_types(self, request: HttpRequest, most: int) -> dict[str, int] | None:
        """Count the elements by type, up to `most` in total. Return None if counting would test too many."""
        tested = [number for spec in self.filter_specs if (number := spec.most_tested())]
        if tested and not self._has_at_most(request, min(tested)):
            return None
        if tested:
            # Few elements: some filters need the join of the list.
            found = self.queryset.order_by()
        else:
            found = self._without_order(request, self.filter_specs).filter(newest_id__isnull=False)
        try:
            sql, parameters = found.values("type_id")[:most].query.sql_with_params()
        except EmptyResultSet:
            # A filter has an unknown value.
            return {}
        counted = f"SELECT t.type_id::text, count(*) FROM ({sql}) t GROUP BY t.type_id"  # noqa: S608  Django's statement
        return dict(fetch(counted, parameters))

    def possible_types(self) -> set[str]:
        """Return the keys of the types that the filters by type allow."""
        passing = [types for spec in self.filter_specs if (types := spec.passing_types()) is not None]
        return set.intersection(*({each.key for each in types} for types in passing))

    def _portion_of(
        self, request: HttpRequest, shown: QuerySet[Element], most: int, *, is_descending: bool
    ) -> list[UUID]:
        after = request.GET.get(AFTER, "").lower()
        start = after if GUID.fullmatch(after) else None
        self.portion = portion = read_portion(most, start, is_descending=is_descending)
        limits = portion.condition(ElementVersion._meta.db_table)
        found = shown.extra(where=[limits.sql], params=limits.parameters)  # noqa: S610  constants
        # The order of the index: the id of the version decides between equal names.
        found = found.order_by(*((DOWN, "-newest_id") if is_descending else (UP, "newest_id")))
        rows = list(found.values_list("id", "newest_id")[: self.list_per_page + 1])
        if len(rows) > self.list_per_page:
            self.next_after = str(rows[-2][1])
        elif portion.until:
            self.next_after = portion.until.version
        return [element for element, _version in rows]

    @property
    def is_cut(self) -> bool:
        """Whether the page shows fewer elements than it can, because it has tested only a part of the storage."""
        return bool(self.next_after) and not self.has_next

    @property
    def next_address(self) -> str:
        return str(self.get_query_string({AFTER: self.next_after})) if self.next_after else ""

    @property
    def first_address(self) -> str:
        return str(self.get_query_string()) if self.portion and self.portion.after else ""
