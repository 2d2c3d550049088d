"""The page that lists missing translations: values that an element has in another culture (D484)."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.detail import office_context
from elements.admin.labels import OfficeLabels, labels_of, page_address
from elements.admin.listing.filters import MOST_READ
from elements.cultures.missing import Untranslated, has_at_most, read_untranslated
from elements.locks import CHANGEABLE
from elements.reading.lists.portions import Portion, read_portion
from repository_site.core.wording import GUID
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.pages import ReadPage

PAGE = "elements_translations"
PAGE_SIZE = 50


def translations_view(request: HttpRequest) -> HttpResponseBase:
    labels, given = labels_of(request), request.GET
    cultures = {str(each.lcid): each for each in labels.cultures}
    # By default the first culture that is not the default one, from which people translate.
    usual = next((lcid for lcid, each in cultures.items() if not each.is_default), next(iter(cultures)))
    lcid = given["culture"] if given.get("culture") in cultures else usual
    names = [each.name for each in labels.configuration.blueprint.facets]
    # Otherwise people would have to look into every facet.
    facet = given["facet"] if given.get("facet") in names else ""
    after = given.get("after", "").lower()
    portion = read_portion(MOST_READ, after if GUID.fullmatch(after) else None)
    configuration, audience, only = labels.configuration, labels.reader.audience, facet or None
    limit: int | None = PAGE_SIZE + 1
    if has_at_most(configuration, audience, only, MOST_READ):
        # Without a limit: with one, the database would look for the first ones in the order of all names.
        portion, limit = Portion(MOST_READ, portion.after, None), None
    found = read_untranslated(configuration, audience, int(lcid), portion, facet=only, limit=limit)
    shown, is_full = found[:PAGE_SIZE], len(found) > PAGE_SIZE
    end = shown[-1].identity.version if is_full else portion.until.version if portion.until else ""
    context = {
        **office_context(request, _("Translations"), is_below_list=False),
        "cultures": [
            {"title": each.name, "address": _address(key, facet), "is_chosen": key == lcid, "label": each}
            for key, each in cultures.items()
        ],
        "facets": [
            {
                "title": labels.facet(name) if name else _("All"),
                "address": _address(lcid, name),
                "is_chosen": name == facet,
            }
            for name in ("", *names)
        ],
        "rows": _rows(labels, shown),
        "culture": cultures[lcid],
        "next": _address(lcid, facet, after=end) if end else "",
        "first": _address(lcid, facet) if portion.after else "",
        # Versions that the page has tested, if there may be more elements although it is not full.
        "tested": MOST_READ if end and not is_full else None,
    }
    return ReadPage(request, "back_office/elements/translations.html", context)


def _rows(labels: OfficeLabels, found: list[Untranslated]) -> list[dict[str, object]]:
    links = labels.read_links([each.identity for each in found])
    rows = []
    for each in found:
        named = links[each.identity.element]
        titles = {property.key: labels.property(property) for property in named.type.properties}
        missing = ", ".join(titles[name] for name in each.names)
        is_open = named.state is None or named.state.category in CHANGEABLE
        edit = page_address("elements_edit", named.element) if is_open else ""
        rows.append({"named": named, "missing": missing, "edit": edit})
    return rows


def _address(culture: str, facet: str, **more: str) -> str:
    return f"{reverse(f'admin:{PAGE}')}?{urlencode({'culture': culture, 'facet': facet, **more})}"


storage_office.add_page("translations/", translations_view, PAGE)
storage_office.add_navigation(NavigationEntry(NavigationGroup.CONTENT, gettext_lazy("Translations"), "translate", PAGE))
