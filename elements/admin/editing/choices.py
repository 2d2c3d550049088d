"""Elements to choose from while the user types: for related contexts, parents and the filter by author."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.searching import BY_NAME, listed_elements, search, take
from elements.presentation.labels import Named
from elements.related_contexts import accepts
from facets.blueprint.definitions import ElementType
from repository_site.core.problems import NotFound
from storage.back_office import storage_office

PAGE_SIZE = 20
MAX_PAGE = 1_000


def choices_view(request: HttpRequest) -> HttpResponseBase:
    """Return one page of elements by name, as select2 expects it."""
    labels = labels_of(request)
    types = _types(labels, request)
    number = request.GET.get("page", "1")
    page = min(int(number), MAX_PAGE) if number.isascii() and number.isdecimal() and len(number) < 10 else 1
    elements = listed_elements().filter(type_id__in=types).order_by(*BY_NAME)
    parts = search(elements, request.GET.get("term", ""))
    ids = [str(each) for each in take(parts, (max(page, 1) - 1) * PAGE_SIZE, PAGE_SIZE + 1)]
    named = labels.elements(ids[:PAGE_SIZE])
    found = [_choice(named[each]) for each in ids[:PAGE_SIZE] if each in named]
    return JsonResponse({"results": found, "pagination": {"more": len(ids) > PAGE_SIZE}})


def _choice(named: Named) -> dict[str, str]:
    return {
        "id": named.element,
        "text": named.name,
        "type": named.type_name,
        "color": named.type.color,
        "state": named.state.text if named.state else "",
    }


def _types(labels: OfficeLabels, request: HttpRequest) -> list[UUID]:
    types, given = labels.configuration.types, request.GET
    if "context" in given:
        allowed = context_types(labels, _type(labels, given.get("type", "")), given["context"])
    elif "parent" in given:
        allowed = [types[key] for key in _type(labels, given["parent"]).parents]
    else:
        allowed = [_type(labels, key) for key in given.get("types", "").split(",")]
    return [labels.configuration.type_ids[each.key] for each in allowed]


def _type(labels: OfficeLabels, key: str) -> ElementType:
    found = labels.configuration.types.get(key)
    if found is None:
        raise NotFound(_("The type %(key)s does not exist.") % {"key": key[:100]})
    return found


def context_types(labels: OfficeLabels, type: ElementType, context: str) -> list[ElementType]:
    related = next((each.related for each in type.properties if each.key == context and each.related), None)
    if related is None:
        words = {"key": type.key, "context": context[:100]}
        raise NotFound(_("The type %(key)s has no related context %(context)s.") % words)
    return [each for each in labels.configuration.types.values() if accepts(context, related, each)]


storage_office.add_page("elements/choices/", choices_view, "elements_choices")
