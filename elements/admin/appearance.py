"""The page on which administrators choose the look of the reader pages (D421)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elements.admin.detail import office_context
from elements.admin.labels import OfficeLabels, labels_of
from elements.admin.linking import titled_text
from elements.appearance import (
    KEEP,
    MAX_INTRO,
    MAX_LOGO,
    MAX_TITLE,
    REMOVE,
    AppearanceInput,
    change_appearance,
    read_appearance,
)
from elements.models import Appearance
from repository_site.core.problems import Problem
from repository_site.core.rest.errors import status_of
from storage.back_office import NavigationEntry, NavigationGroup, storage_office
from storage.back_office.fields import with_plain_lines
from storage.back_office.sites import require_administrator
from storage.options import Role
from storage.pages import storage_of

PAGE = "elements_appearance"


@dataclass(frozen=True, slots=True)
class CultureTexts:
    culture: str
    language: str
    title: str
    intro: str


@dataclass(frozen=True, slots=True)
class MenuFacet:
    name: str
    title: str
    place: str
    is_shown: bool


def appearance_view(request: HttpRequest) -> HttpResponseBase:
    require_administrator(request)
    labels = labels_of(request)
    if request.method != "POST":
        return _render(request, labels, _stored(labels, read_appearance()))
    given = _given(request, labels)
    try:
        with transaction.atomic():
            change_appearance(storage_of(request), labels.configuration, given)
    except Problem as problem:
        return _render(request, labels, given, problem)
    messages.success(request, _("The appearance was saved."))
    return redirect(f"admin:{PAGE}")


def _stored(labels: OfficeLabels, found: Appearance) -> AppearanceInput:
    return AppearanceInput(found.titles, found.intros, found.color, KEEP, found.menu, found.hidden, found.changed_on)


def _given(request: HttpRequest, labels: OfficeLabels) -> AppearanceInput:
    data: QueryDict = request.POST
    cultures = [str(each.lcid) for each in labels.cultures]
    names = _menu_names(labels)
    return AppearanceInput(
        {each: data.get(f"title-{each}", "") for each in cultures},
        {each: with_plain_lines(data.get(f"intro-{each}", "")) for each in cultures},
        data.get("color", "").strip(),
        _logo(request),
        sorted(names, key=lambda name: _place(data.get(f"place-{name}", ""))),
        [each for each in names if f"shown-{each}" not in data],
        _moment(data.get("read", "")),
    )


def _logo(request: HttpRequest) -> bytes | str:
    """Read one byte more than is allowed at most, so that a larger file is noticed."""
    file = request.FILES.get("logo")
    if isinstance(file, UploadedFile):
        content: bytes = file.read(MAX_LOGO + 1)
        return content
    return REMOVE if request.POST.get("remove-logo") else KEEP


def _place(text: str) -> int:
    """Facets without a valid place come last."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 10**6


def _moment(text: str) -> datetime | None:
    try:
        return parse_datetime(text)
    except ValueError:
        return None


def _menu_names(labels: OfficeLabels) -> list[str]:
    """Facets for readers; the others never appear in the menu."""
    return [name for name, each in labels.configuration.facets.items() if each.facet.for_readers]


def _menu(labels: OfficeLabels, given: AppearanceInput) -> Iterator[MenuFacet]:
    places = {name: place for place, name in enumerate(given.menu)}
    ordered = sorted(_menu_names(labels), key=lambda name: places.get(name, len(places)))
    for place, name in enumerate(ordered, 1):
        yield MenuFacet(name, labels.facet(name), str(place), name not in given.hidden)


def _render(
    request: HttpRequest, labels: OfficeLabels, given: AppearanceInput, problem: Problem | None = None
) -> HttpResponseBase:
    stored = read_appearance()
    context: dict[str, Any] = {
        **office_context(request, _("Appearance"), is_below_list=False),
        "texts": [
            CultureTexts(culture, each.name, given.titles.get(culture, ""), given.intros.get(culture, ""))
            for culture, each in ((str(each.lcid), each) for each in labels.cultures)
        ],
        "given": given,
        "read": given.read_on.isoformat() if given.read_on else "",
        "logo": reverse("reader:logo", args=[stored.logo_digest]) if stored.logo_type else "",
        "menu": list(_menu(labels, given)),
        "problems": [_in_words(labels, each) for each in problem.details] if problem else [],
        "max_title": MAX_TITLE,
        "max_intro": MAX_INTRO,
        "max_logo": MAX_LOGO // 1024,
        "reader": reverse("reader:start"),
    }
    status = status_of(problem) if problem else 200
    return TemplateResponse(request, "back_office/elements/appearance.html", context, status=status)


def _in_words(labels: OfficeLabels, text: str) -> str:
    """Name the field as the page does."""
    fields = {"title": _("Title"), "introduction": _("Introduction"), "color": _("Colour"), "logo": _("Logo")}
    for key, name in {**fields, "menu": _("Menu")}.items():
        place, colon, rest = text.partition(":")
        if colon and (place == key or place.startswith(f"{key}[")):
            culture = next((each.name for each in labels.cultures if place == f"{key}[{each.lcid}]"), "")
            return f"{name} ({culture}):{rest}" if culture else f"{name}:{rest}"
    return titled_text(labels, text)


storage_office.add_page("appearance/", appearance_view, PAGE)
storage_office.add_navigation(
    NavigationEntry(
        NavigationGroup.CONFIGURATION,
        gettext_lazy("Appearance"),
        "palette",
        PAGE,
        roles=frozenset({Role.ADMINISTRATOR}),
    )
)
