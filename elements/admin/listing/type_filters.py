"""Base of the filters of the element list, and filters by facet, type and place in diagrams."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.labels import OfficeLabels, labels_of
from elements.models import Element
from facets.blueprint.definitions import ElementType
from repository_site.core.wording import GUID
from storage.back_office.select_filter import SelectFilter

Elements = QuerySet[Element]


class ElementFilter(SelectFilter):
    """An unknown value selects nothing rather than everything."""

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Element], admin: ModelAdmin) -> None:
        self.request = request
        super().__init__(request, params, model, admin)

    @cached_property
    def labels(self) -> OfficeLabels:
        return labels_of(self.request)

    def queryset(self, request: HttpRequest, queryset: Elements) -> Elements:
        value = self.value()
        return self.narrow(queryset, value) if value else queryset

    def narrow(self, elements: Elements, value: str) -> Elements:
        raise NotImplementedError

    def most_tested(self) -> int | None:
        """Return the number of versions that a page tests, if no index finds the matches (D650)."""
        return None

    def is_narrow(self) -> bool:
        """Whether an index may find few matches."""
        return False

    def passing_types(self) -> Collection[ElementType] | None:
        """Return the types whose elements pass this filter; None if it tests more than the type."""
        return None if self.value() else self.labels.configuration.types.values()

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        raise NotImplementedError

    def chosen_element(self) -> list[tuple[str, str]]:
        """Return the id in the address, if it is one, with the name of its element."""
        chosen = self.request.GET.get(self.parameter_name, "")
        if not GUID.fullmatch(chosen):
            return []
        if not hasattr(self.request, "chosen_elements"):
            # One statement for all filters.
            ids = {str(each).lower() for each in self.request.GET.dict().values() if GUID.fullmatch(str(each))}
            self.request.chosen_elements = self.labels.elements(ids)  # type: ignore[attr-defined]
        named = self.request.chosen_elements.get(chosen.lower())  # type: ignore[attr-defined]
        return [(chosen, named.name if named else chosen)]

    def of_types(self, elements: Elements, types: list[ElementType]) -> Elements:
        return elements.filter(type_id__in=type_ids(self.labels, types))


def type_ids(labels: OfficeLabels, types: list[ElementType]) -> list[UUID]:
    return [labels.configuration.type_ids[each.key] for each in types]


class TypesFilter(ElementFilter):
    """Elements of some types."""

    def chosen_types(self) -> list[ElementType]:
        raise NotImplementedError

    def narrow(self, elements: Elements, value: str) -> Elements:
        return self.of_types(elements, self.chosen_types())

    def passing_types(self) -> Collection[ElementType] | None:
        return self.chosen_types() if self.value() else super().passing_types()

    def is_narrow(self) -> bool:
        return bool(self.value())


class ElementFacetFilter(TypesFilter):
    title = gettext_lazy("facet")
    parameter_name = "facet"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(each.name, self.labels.facet(each.name)) for each in self.labels.configuration.blueprint.facets]

    def chosen_types(self) -> list[ElementType]:
        return [each for each in self.labels.configuration.types.values() if each.facet == self.value()]


class TypeFilter(TypesFilter):
    title = gettext_lazy("type")
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        facet = request.GET.get(ElementFacetFilter.parameter_name)
        types = [each for each in self.labels.configuration.types.values() if not facet or each.facet == facet]
        return [(each.key, f"{self.labels.facet(each.facet)}: {self.labels.type(each)}") for each in types]

    def chosen_types(self) -> list[ElementType]:
        return [each for each in self.labels.configuration.types.values() if each.key == self.value()]


class DiagramFilter(ElementFilter):
    """Elements that exist only in diagrams are hidden by default, unless their type is selected."""

    title = gettext_lazy("diagram elements")
    parameter_name = "diagrams"
    WITH, ONLY = "with", "only"
    all_option = None

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Element], admin: ModelAdmin) -> None:
        # Bulk changes use the filters when the request has its own query string again.
        self.has_type = bool(request.GET.get(TypeFilter.parameter_name))
        super().__init__(request, params, model, admin)

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [("", _("Hidden")), (self.WITH, _("Shown together with the others")), (self.ONLY, _("Only these"))]

    def queryset(self, request: HttpRequest, queryset: Elements) -> Elements:
        living = [UUID(each) for each in self.labels.configuration.living_in_diagrams]
        if self.value() == self.ONLY:
            return queryset.filter(type_id__in=living)
        return queryset if self._shows_all else queryset.exclude(type_id__in=living)

    def passing_types(self) -> Collection[ElementType]:
        types = self.labels.configuration.types.values()
        if self.value() == self.ONLY:
            return [each for each in types if each.lives_in_diagrams]
        return [each for each in types if self._shows_all or not each.lives_in_diagrams]

    def is_narrow(self) -> bool:
        return bool(self.value() == self.ONLY)

    @property
    def _shows_all(self) -> bool:
        return self.value() == self.WITH or self.has_type
