"""Elements to choose from while the user types: for related contexts, parents, links and the filter by author."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.searching import BY_NAME, listed_elements, search
from elements.presentation.labels import Named
from elements.related_contexts import accepts
from facets.blueprint.definitions import ElementType
from repository_site.core.problems import NotFound
from repository_site.core.wording import clean_text
from storage.back_office import storage_office

# Values of filters that are not elements. They come first while nothing is typed.
ME, NONE, SOMEBODY = "me", "none", "set"
FIXED = {ME: gettext_lazy("Me"), NONE: gettext_lazy("Without owner"), SOMEBODY: gettext_lazy("With owner")}
PAGE_SIZE = 20
MAX_PAGE = 1_000


def choices_view(request: HttpRequest) -> HttpResponseBase:
    """Return one page of elements, by relevance or without a text by name, as select2 expects it."""
    labels = labels_of(request)
    types = _types(labels, request)
    number = request.GET.get("page", "1")
    page = min(int(number), MAX_PAGE) if number.isascii() and number.isdecimal() and len(number) < 10 else 1
    elements = listed_elements(labels.reader.audience).filter(type_id__in=types).order_by(*BY_NAME)
    start = (max(page, 1) - 1) * PAGE_SIZE
    wanted = slice(start, start + PAGE_SIZE + 1)
    if text := clean_text(request.GET.get("term", "")):
        found_ids = search(labels.reader, elements, text, list(map(str, types)), most=wanted.stop).ids[wanted]
    else:
        found_ids = list(elements.values_list("id", flat=True)[wanted])
    ids = list(map(str, found_ids))
    named = labels.elements(ids[:PAGE_SIZE])
    culture = request.GET.get("culture", "")
    fixed = request.GET.get("fixed", "").split(",") if page <= 1 and not text else []
    found = [{"id": each, "text": str(FIXED[each])} for each in fixed if each in FIXED]
    found += [_choice(labels, named[each], culture) for each in ids[:PAGE_SIZE] if each in named]
    return JsonResponse({"results": found, "pagination": {"more": len(ids) > PAGE_SIZE}})


def _choice(labels: OfficeLabels, named: Named, culture: str) -> dict[str, str]:
    """Return an element as the script needs it; with the address of its page in a culture, if one is given."""
    pages = labels.reader.addresses.pages(named.type)
    return {
        **({"address": pages[culture] + named.element} if culture in pages else {}),
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
    elif "culture" in given:
        allowed = list(types.values())
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
