"""The body of queryElements: the parameters of a list as JSON (D573), and the ids of the elements to return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import QueryDict
from rest_framework import serializers

from elements.api import query
from elements.api.query_parameters import LIST
from elements.filters.parsing import MAX_LENGTH
from repository_site.core.problems import Unreadable
from repository_site.core.rest.rendering import to_json
from repository_site.core.rest.serializers import BodySerializer
from repository_site.core.wording import GUID, listed, printable
from storage.api.moments import AS_OF

# Ids in one request.
MOST_IDS = 10_000
# Wrong ids that a response lists.
MOST_TOLD = 10
IDS = "ids"
# The parameter of each field, and the type of its value.
FIELDS: dict[str, tuple[str, type]] = {
    "filter": (query.FILTER, str),
    "resources": (query.RESOURCES_NAME, list),
    "select": (query.SELECT, list),
    "expandRelated": (query.EXPAND, list),
    "culture": (query.CULTURE, int),
    "fallback": (query.FALLBACK, bool),
    "orderBy": (query.ORDER_BY, str),
    "page": (query.PAGE, int),
    "pageSize": (query.PAGE_SIZE, int),
    "pageSelectionKey": (query.PAGE_SELECTION_KEY, str),
    "format": (query.FORMAT, str),
}
LIST_NAMES = tuple(parameter for parameter, _ in FIELDS.values())
EXPECTED = {str: "a text", list: 'a list of names, such as ["name"]', int: "a whole number", bool: "true or false"}
_HELP = {each.name: each.description for each in LIST}


def _help(name: str) -> str:
    return f"As `{FIELDS[name][0]}`. {_HELP[FIELDS[name][0]]}".replace(", separated by commas", "")


def _names(name: str) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(), required=False, help_text=_help(name))


class ElementQuerySerializer(BodySerializer):
    most_items = {IDS: MOST_IDS}

    ids = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        help_text="Ids of elements of the view, at any level of its tree. Elements that the caller cannot see are left"
        " out. An empty list returns no elements.",
    )
    filter = serializers.CharField(required=False, allow_blank=True, max_length=MAX_LENGTH, help_text=_help("filter"))
    resources = _names("resources")
    select = _names("select")
    expandRelated = _names("expandRelated")
    culture = serializers.IntegerField(required=False, min_value=1, help_text=_help("culture"))
    fallback = serializers.BooleanField(required=False, help_text=_help("fallback"))
    orderBy = serializers.CharField(required=False, allow_blank=True, help_text=_help("orderBy"))
    page = serializers.IntegerField(required=False, min_value=1, max_value=query.MAX_PAGE, help_text=_help("page"))
    pageSize = serializers.IntegerField(
        required=False, min_value=0, max_value=settings.MAX_PAGE_SIZE, help_text=_help("pageSize")
    )
    pageSelectionKey = serializers.UUIDField(required=False, help_text=_help("pageSelectionKey"))
    format = serializers.CharField(required=False, allow_blank=True, help_text=_help("format"))


@dataclass(frozen=True, slots=True)
class ListQuery:
    parameters: QueryDict
    ids: Sequence[str] | None
    """The elements to return, in place of those that the view lists."""
    problems: list[str]
    """Problems of the body itself; those of the parameters come later."""


def read_list_query(document: Any) -> ListQuery:
    """Return the parameters in a body. The reader of the parameters adds their problems to those found here."""
    known = (IDS, *FIELDS)
    if not isinstance(document, dict):
        raise Unreadable(f"The body must be an object with {listed(known, 'or')}.")
    problems = [_unknown(key, known) for key in sorted(document.keys() - known)]
    parameters = QueryDict(mutable=True)
    for name, (parameter, kind) in FIELDS.items():
        if name not in document:
            continue
        value = document[name]
        texts = value if isinstance(value, list) else [str(value)]
        if type(value) is not kind or not all(isinstance(each, str) for each in texts):
            problems.append(f"{name}: expected {EXPECTED[kind]}.")
        else:
            parameters[parameter] = ",".join(texts)
    ids = document.get(IDS, [])
    if not isinstance(ids, list) or len(ids) > MOST_IDS:
        problems.append(f"{IDS}: expected a list of at most {MOST_IDS:,} ids.")
        ids = []
    wrong = [place for place, each in enumerate(ids) if not (isinstance(each, str) and GUID.fullmatch(each))]
    problems += [f"{IDS}[{place}]: {_shown(ids[place])} is not a GUID." for place in wrong[:MOST_TOLD]]
    if len(wrong) > MOST_TOLD:
        problems.append(f"{IDS}: {len(wrong) - MOST_TOLD} more are not GUIDs.")
    named = None if IDS not in document or wrong else list(dict.fromkeys(each.lower() for each in ids))
    return ListQuery(parameters, named, problems)


def misplaced(given: Iterable[str]) -> list[str]:
    """Return the problems of parameters in the address that belong to the body."""
    fields = {parameter: name for name, (parameter, _) in FIELDS.items()}
    return [f"{name}: send it in the body, as {fields[name]}." for name in given if name in fields]


def _unknown(name: str, known: Sequence[str]) -> str:
    shown, plain = printable(name, 40), name.removeprefix("$")
    if plain == AS_OF.removeprefix("$"):
        return f"{shown}: send it in the address, as {AS_OF}."
    if plain in known:
        return f"{shown}: fields of a body have no $; write {plain}."
    return f"{shown}: unknown field; use {listed(known, 'or')}."


def _shown(value: Any) -> str:
    return repr(printable(value, 80)) if isinstance(value, str) else printable(to_json(value).decode(), 80)
