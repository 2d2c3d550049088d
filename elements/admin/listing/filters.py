"""Filters of the element list.

Where possible, a filter is an index condition under row-level security. Other conditions are tested on a
bounded number of rows (D650).
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.admin import ModelAdmin
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.editing.choices import FIXED, ME, NONE, SOMEBODY
from elements.admin.labels import OfficeLabels
from elements.admin.listing.type_filters import DiagramFilter, ElementFacetFilter, ElementFilter, Elements, TypeFilter
from elements.cultures.missing import is_untranslated
from elements.derived import AUTHOR_CONTEXTS
from elements.extension import elements_extensions
from elements.models import Element, ElementVersion, Reference
from elements.sizes.counting import OWNER, has_owner
from facets.blueprint.cycles import OPEN, Category
from facets.blueprint.private_content import USER_TYPE
from facets.state_categories import CATEGORY_NAMES
from repository_site.core.wording import GUID
from storage.pages import caller_of

ENDING_SOON = timedelta(days=30)
TAGS = "tags"
# Versions that a page tests: with a look-up in an index for each, or with all of its texts.
MOST_LOOKED_UP, MOST_READ = 5_000, 2_000
# References that are followed; of more, each version that a page tests is looked up.
MOST_REFERENCES = 5_000


class StateFilter(ElementFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        cycles = self.labels.configuration.blueprint.cycles
        states = {each.key: each for cycle in reversed(cycles) for each in reversed(cycle.states)}
        return [(each.key, self.labels.text(each.display_names, each.key)) for each in reversed(states.values())]

    def narrow(self, elements: Elements, value: str) -> Elements:
        """Name the category of the state as well: partial indexes depend on it."""
        cycles = self.labels.configuration.blueprint.cycles
        meant = {each.category.value for cycle in cycles for each in cycle.states if each.key == value}
        if not meant:
            return elements.none()
        found = elements.filter(newest__state=value)
        return found.filter(newest__category=meant.pop()) if len(meant) == 1 else found

    def most_tested(self) -> int | None:
        cycles = self.labels.configuration.blueprint.cycles
        meant = {each.category for cycle in cycles for each in cycle.states if each.key == self.value()}
        return MOST_LOOKED_UP if meant and not meant <= OPEN else None


class StageFilter(ElementFilter):
    title = gettext_lazy("category of state")
    parameter_name = "stage"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(each.value, str(CATEGORY_NAMES[each])) for each in Category]

    def narrow(self, elements: Elements, value: str) -> Elements:
        return elements.filter(newest__category=value) if value in set(Category) else elements.none()

    def most_tested(self) -> int | None:
        # An index has the open versions.
        return MOST_LOOKED_UP if self.value() in set(Category) - OPEN else None


class ValidityFilter(ElementFilter):
    """Validity of the released version; a version in process is not valid, whatever its dates."""

    title = gettext_lazy("validity")
    parameter_name = "validity"
    NOW, SOON, ENDING, ENDED = "now", "notYet", "ending", "ended"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [
            (self.NOW, _("Valid now")),
            (self.SOON, _("Not yet valid")),
            (self.ENDING, _("Ends within 30 days")),
            (self.ENDED, _("Ended")),
        ]

    def narrow(self, elements: Elements, value: str) -> Elements:
        now = timezone.now()
        has_begun = Q(published__valid_from__isnull=True) | Q(published__valid_from__lte=now)
        goes_on = Q(published__valid_until__isnull=True) | Q(published__valid_until__gt=now)
        conditions = {
            self.NOW: Q(published__isnull=False) & has_begun & goes_on,
            self.SOON: Q(published__valid_from__gt=now),
            # The category is part of the index of ends.
            self.ENDING: Q(
                published__category=Category.PUBLISHED.value,
                published__valid_until__gt=now,
                published__valid_until__lte=now + ENDING_SOON,
            ),
            self.ENDED: Q(published_id__in=_ended(now)) | Q(published=None, newest__category=Category.RETIRED.value),
        }
        return elements.filter(conditions[value]) if value in conditions else elements.none()

    def most_tested(self) -> int | None:
        return MOST_LOOKED_UP if self.value() in (self.NOW, self.ENDED) else None


def _ended(now: datetime) -> QuerySet[ElementVersion, UUID]:
    """Return released versions whose end has passed but which the scheduled job has not processed yet."""
    published = ElementVersion.objects.filter(category=Category.PUBLISHED.value, valid_until__lte=now)
    return published.values_list("id", flat=True)


class ReferenceFilter(ElementFilter):
    """Elements that refer to a chosen one in some contexts. The select contains only the chosen element and finds
    others while the user types."""

    fixed: ClassVar[tuple[str, ...]] = ()
    """Values that are not elements."""

    def target_types(self) -> Collection[str]:
        """Return the types of elements to choose from."""
        return (USER_TYPE,)

    def contexts(self) -> Collection[str]:
        raise NotImplementedError

    def has_output(self) -> bool:
        return True

    def fixed_values(self) -> tuple[str, ...]:
        is_person = USER_TYPE in self.target_types() and caller_of(self.request).element_id is not None
        return (*self.fixed, ME) if is_person else self.fixed

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(each, str(FIXED[each])) for each in self.fixed_values()] + self.chosen_element()

    @property
    def search_address(self) -> str:
        query = urlencode({"types": ",".join(sorted(self.target_types())), "fixed": ",".join(self.fixed_values())})
        return f"{reverse('admin:elements_choices')}?{query}"

    @cached_property
    def target(self) -> UUID | None:
        return caller_of(self.request).element_id if self.value() == ME else _guid(self.value() or "")

    @cached_property
    def references(self) -> QuerySet[Reference]:
        """References to the chosen element, also of old versions."""
        return Reference.objects.filter(context__in=sorted(self.contexts()), target_id=self.target)

    @cached_property
    def is_frequent(self) -> bool:
        return self.references[: MOST_REFERENCES + 1].count() > MOST_REFERENCES

    def narrow(self, elements: Elements, value: str) -> Elements:
        if self.target is None:
            return elements.none()
        if self.is_frequent:
            return elements.filter(Exists(self.references.filter(version_id=OuterRef("newest_id"))))
        return elements.filter(newest_id__in=self.references.values("version_id"))

    def most_tested(self) -> int | None:
        return MOST_LOOKED_UP if self.target and self.is_frequent else None

    def is_narrow(self) -> bool:
        return self.target is not None and not self.is_frequent


class AuthorFilter(ReferenceFilter):
    """Users in `author` or `secondaryAuthors`; `me` is the user of the signed-in account, if it has one."""

    title = gettext_lazy("author")
    parameter_name = "author"

    def contexts(self) -> Collection[str]:
        return AUTHOR_CONTEXTS


class OwnerFilter(ReferenceFilter):
    title = gettext_lazy("owner")
    parameter_name = "owner"
    fixed = (NONE, SOMEBODY)

    def contexts(self) -> Collection[str]:
        return (OWNER,)

    def narrow(self, elements: Elements, value: str) -> Elements:
        owned = Exists(Reference.objects.filter(version_id=OuterRef("newest_id"), context=OWNER))
        if value == SOMEBODY:
            return elements.filter(owned)
        if value != NONE:
            return super().narrow(elements, value)
        types = [each for each in self.labels.configuration.types.values() if has_owner(each)]
        return self.of_types(elements, types).filter(~owned)

    def most_tested(self) -> int | None:
        return MOST_LOOKED_UP if self.value() in self.fixed else super().most_tested()


class TagFilter(ReferenceFilter):
    """Elements with a tag: an element of the facet `tags`, in any context that leads there."""

    title = gettext_lazy("tag")
    parameter_name = "tag"

    def target_types(self) -> Collection[str]:
        return [each.key for each in self.labels.configuration.types.values() if each.facet == TAGS]

    def contexts(self) -> Collection[str]:
        types = self.labels.configuration.types.values()
        return {each.key for type in types for each in type.properties if each.related and each.related.facet == TAGS}

    def has_output(self) -> bool:
        return bool(self.contexts())


class TranslationFilter(ElementFilter):
    """Elements with a text that has no translation in a culture."""

    title = gettext_lazy("missing translation")
    parameter_name = "untranslated"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return [(str(each.lcid), each.name) for each in self.labels.cultures]

    def has_output(self) -> bool:
        return len(self.labels.cultures) > 1

    def narrow(self, elements: Elements, value: str) -> Elements:
        """The same elements as on the page of missing translations (D484)."""
        if value not in {str(each.lcid) for each in self.labels.cultures}:
            return elements.none()
        reader = self.labels.reader
        # `listed_elements` joins the newest versions under the name of their table.
        tables = {"element": Element._meta.db_table, "version": ElementVersion._meta.db_table}
        missing = is_untranslated(reader.configuration, reader.audience, int(value), **tables)
        return elements.extra(where=[missing.sql], params=missing.parameters)  # noqa: S610  constants

    def most_tested(self) -> int | None:
        return MOST_READ if self.value() else None


class PlaceFilter(ElementFilter):
    """Place in the tree; the id of an element selects its children."""

    title = gettext_lazy("place in the tree")
    parameter_name = "place"
    UNFILED, ROOT = "unfiled", "root"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        below = [(chosen, _("Below %(name)s") % {"name": name}) for chosen, name in self.chosen_element()]
        return [(self.ROOT, _("Roots")), (self.UNFILED, _("Unfiled: no parent, and not a root")), *below]

    def narrow(self, elements: Elements, value: str) -> Elements:
        if parent := _guid(value):
            return elements.filter(parent_id=parent)
        types = self.labels.configuration.types.values()
        roots = root_types(self.labels)
        if value == self.ROOT:
            return self.of_types(elements.filter(parent_id=None), [each for each in types if each.key in roots])
        if value == self.UNFILED:
            unfiled = [each for each in types if each.parents and each.key not in roots and not each.lives_in_diagrams]
            return self.of_types(elements.filter(parent_id=None), unfiled)
        return elements.none()


def root_types(labels: OfficeLabels) -> set[str]:
    return {
        shown.type.key
        for facet in labels.configuration.facets.values()
        for view in facet.views.values()
        if view.view.is_hierarchical
        for shown in view.types.values()
        if shown.is_root
    }


class ColumnsParameter(ElementFilter):
    """Not a filter: it takes the parameter with the chosen columns, which the list would refuse otherwise."""

    title = ""
    parameter_name = "columns"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return []

    def has_output(self) -> bool:
        return False


def _guid(text: str) -> UUID | None:
    return UUID(text) if GUID.fullmatch(text) else None


def element_filters() -> list[type[ElementFilter]]:
    added = [each for extension in elements_extensions for each in extension.filters]
    return [
        ElementFacetFilter,
        TypeFilter,
        StateFilter,
        StageFilter,
        *added,
        AuthorFilter,
        OwnerFilter,
        TagFilter,
        TranslationFilter,
        ValidityFilter,
        PlaceFilter,
        DiagramFilter,
        ColumnsParameter,
    ]
