"""Permalinks: short addresses that lead to what a visitor may see today (D413 to D415)."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from elements.filters.conditions import Condition
from elements.filters.parsing import MAX_LENGTH
from elements.models import Element, ElementVersion, LinkType, Permalink
from elements.reading.assembly.assembler import Reader
from elements.reading.lists.filtering import compile_filter, facet_vocabulary, view_vocabulary
from elements.reading.rows import find_any_version
from facets.configuration import CompiledFacet
from repository_site.core.problems import Forbidden, Invalid, NotFound, Unreadable, placed
from repository_site.core.rest.datetimes import wire_datetime
from repository_site.core.rest.rendering import to_json
from repository_site.core.wording import GUID, listed, printable
from storage.access.callers import Caller, CallerKind

# Without characters that look alike.
ALPHABET = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
LENGTH = 10
LINK_TYPE, ELEMENT, VERSION, CULTURE = "linkType", "elementId", "versionId", "culture"
FACET, VIEW, FILTER = "facetName", "viewName", "filter"
# The fields of each type of link, and whether they are required.
FIELDS: Mapping[str, Mapping[str, bool]] = {
    LinkType.OF_ELEMENT: {ELEMENT: True},
    LinkType.OF_VERSION: {VERSION: True},
    LinkType.OF_SELECTION: {FACET: True, VIEW: False, FILTER: True},
    LinkType.OF_OVERVIEW: {FACET: True, VIEW: False},
}
LONGEST: Mapping[str, int] = {FACET: 100, VIEW: 100, FILTER: MAX_LENGTH}
EXAMPLE = f'{{"{LINK_TYPE}": "{LinkType.OF_ELEMENT.value}", "{ELEMENT}": "3f2504e0-4f89-41d3-9a0c-0305e82c3301"}}'


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The target of a permalink. `target_id` is the id of an element or a version."""

    link_type: str
    target_id: str | None = None
    facet: str = ""
    view: str = ""
    filter: str = ""
    culture: int | None = None

    @property
    def digest(self) -> str:
        return sha256(to_json(astuple(self))).hexdigest()


def can_create(caller: Caller) -> bool:
    return caller.kind is not CallerKind.ANONYMOUS


def create_permalink(caller: Caller, reader: Reader, given: Any) -> Permalink:
    """Return the permalink of a target that the caller can see. The same target always has the same permalink."""
    if not can_create(caller):
        raise Forbidden(_("Sign in, or send a token, to create a permalink."))
    target = read_target(reader, given)
    known = Permalink.objects.filter(digest=target.digest).first()
    return known or _create(target)


def _create(target: LinkTarget) -> Permalink:
    # Requests at the same moment may exceed the limit by a few.
    if Permalink.objects.all()[: settings.MAX_PERMALINKS].count() >= settings.MAX_PERMALINKS:
        text = _("The storage already has %(number)s permalinks, which is the limit of the installation.")
        raise Invalid(text % {"number": settings.MAX_PERMALINKS})
    while True:
        made = Permalink(
            key="".join(secrets.choice(ALPHABET) for _place in range(LENGTH)),
            link_type=target.link_type,
            target_id=target.target_id,
            facet=target.facet,
            view=target.view,
            filter=target.filter,
            culture=target.culture,
            digest=target.digest,
            created_on=timezone.now(),
        )
        Permalink.objects.bulk_create([made], ignore_conflicts=True)
        # Another request may have created the same permalink; a key that is in use is replaced.
        if (found := Permalink.objects.filter(digest=target.digest).first()) is not None:
            return found


def find_permalink(key: str) -> Permalink | None:
    is_possible = 0 < len(key) <= LENGTH and key.isascii() and key.isalnum()
    return Permalink.objects.filter(key=key).first() if is_possible else None


def read_target(reader: Reader, given: Any) -> LinkTarget:
    """Check the form of a target, then whether the caller can see it."""
    if not isinstance(given, dict):
        raise Unreadable(f"The body must be an object such as {EXAMPLE}.")
    link_type = given.get(LINK_TYPE)
    if not isinstance(link_type, str) or link_type not in FIELDS:
        raise Unreadable(placed(LINK_TYPE, f"expected {listed(LinkType.values, 'or')}."))
    problems = [*_problems(reader, link_type, given)]
    if problems:
        text = problems[0] if len(problems) == 1 else f"{len(problems)} fields are invalid."
        raise Unreadable(text, problems)
    culture = given.get(CULTURE)
    if FACET in given:
        return _selected(reader, link_type, given, culture)
    identity = str(given.get(ELEMENT) or given.get(VERSION)).lower()
    row = find_any_version(reader.audience, identity)
    if row is None:
        raise NotFound(f"There is no element {identity}.")
    target = row.element if link_type == LinkType.OF_ELEMENT else row.version
    return LinkTarget(link_type, target_id=target, culture=culture)


def _problems(reader: Reader, link_type: str, given: Mapping[str, Any]) -> Iterator[str]:
    own = FIELDS[link_type]
    for name in sorted(given.keys() - own.keys() - {LINK_TYPE, CULTURE}):
        fields = listed([*own, CULTURE])
        yield placed(printable(name, 40), f"a link {link_type} has the fields {fields}; leave this one out.")
    for name, is_required in own.items():
        value = given.get(name, "" if not is_required else None)
        if not isinstance(value, str) or (is_required and not value.strip()):
            yield placed(name, "expected a text.")
        elif name in (ELEMENT, VERSION) and not GUID.fullmatch(value):
            yield placed(name, f"{printable(value, 40)!r} is not a GUID.")
        elif name in LONGEST and len(value) > LONGEST[name]:
            yield placed(name, f"expected at most {LONGEST[name]} characters.")
    culture, known = given.get(CULTURE), reader.configuration.cultures.data
    if culture is not None and (type(culture) is not int or culture not in known):
        yield placed(CULTURE, f"expected a data culture of this storage: {listed(known, 'or')}.")


def _selected(reader: Reader, link_type: str, given: Mapping[str, Any], culture: int | None) -> LinkTarget:
    compiled, text = reader.configuration.facet(given[FACET]), given.get(FILTER, "")
    view = compiled.view(given[VIEW]).view.name if given.get(VIEW) else ""
    if text:
        selected_condition(reader, compiled, view, text)
    return LinkTarget(link_type, facet=compiled.facet.name, view=view, filter=text, culture=culture)


def selected_condition(reader: Reader, facet: CompiledFacet, view: str, text: str) -> Condition:
    """Return the condition of a filter on the elements of a facet, or of one of its views."""
    configuration = reader.configuration
    if view:
        return compile_filter(reader, text, view_vocabulary(configuration, facet.view(view)))
    return compile_filter(reader, text, facet_vocabulary(configuration, facet.facet.name))


@dataclass(frozen=True, slots=True)
class PermalinkQuery:
    """Conditions of a list of permalinks; empty ones are absent. `element` includes links of its versions."""

    key: str = ""
    link_type: str = ""
    element: str = ""


def visible_permalinks(reader: Reader, query: PermalinkQuery) -> QuerySet[Permalink]:
    """Return permalinks whose target the caller can see, oldest first.

    A filter may contain words that its author did not mean for all readers. So viewers and anonymous readers find a
    selection only by its id.
    """
    found = Permalink.objects.filter(_visible(reader, is_known=bool(query.key)))
    if query.key:
        found = found.filter(key=query.key)
    if query.link_type:
        found = found.filter(link_type=query.link_type)
    if query.element:
        versions = ElementVersion.objects.filter(element_id=query.element).values("id")
        found = found.filter(Q(target_id=query.element) | Q(target_id__in=versions))
    return found.order_by("created_on", "id")


def _visible(reader: Reader, *, is_known: bool) -> Q:
    audience, facets = reader.audience, [each.facet.name for each in reader.configuration.facets.values()]
    elements = Element.objects.filter(id=OuterRef("target_id"), **{f"{audience.pointer}__isnull": False})
    versions = ElementVersion.objects.filter(id=OuterRef("target_id"))
    if audience.closed:
        closed = [UUID(each) for each in audience.closed]
        elements = elements.exclude(type_id__in=closed)
        versions = versions.exclude(element__type_id__in=closed)
    if not audience.sees_drafts:
        versions = versions.filter(id=F("element__published_id"))
    pages = [LinkType.OF_OVERVIEW]
    if audience.sees_drafts or is_known:
        pages.append(LinkType.OF_SELECTION)
    return (
        Q(link_type=LinkType.OF_ELEMENT) & Q(Exists(elements))
        | Q(link_type=LinkType.OF_VERSION) & Q(Exists(versions))
        | Q(link_type__in=pages, facet__in=facets)
    )


def permalink_address(storage_address: str, link: Permalink) -> str:
    return f"{storage_address}/_l/{link.key}"


def permalink_document(link: Permalink, storage_address: str, zone: ZoneInfo) -> dict[str, Any]:
    target = str(link.target_id) if link.target_id else ""
    fields = {
        ELEMENT: target if link.link_type == LinkType.OF_ELEMENT else "",
        VERSION: target if link.link_type == LinkType.OF_VERSION else "",
        FACET: link.facet,
        VIEW: link.view,
        FILTER: link.filter,
        CULTURE: link.culture,
    }
    return {
        "id": link.key,
        LINK_TYPE: link.link_type,
        "url": permalink_address(storage_address, link),
        **{name: value for name, value in fields.items() if value},
        "createdOn": wire_datetime(link.created_on, zone),
    }
