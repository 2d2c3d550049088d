"""Reads the `$` parameters of an operation (D8, D12), and reports all problems at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeVar

from django.conf import settings
from django.http import QueryDict

from elements.reading.assembly.projection import RESOURCES
from elements.tables.formats import TableFormat
from repository_site.core.problems import Unreadable
from repository_site.core.wording import GUID, listed, printable, similar_hint
from storage.localisation.cultures import CultureSet, fallback_order

T = TypeVar("T")
FILTER, RESOURCES_NAME, SELECT, EXPAND = "$filter", "$resources", "$select", "$expandRelated"
DETAILS, DRY_RUN, CONTEXT = "$details", "dryRun", "context"
PAGE, PAGE_SIZE, PAGE_SELECTION_KEY = "$page", "$pageSize", "$pageSelectionKey"
ORDER_BY, FORMAT = "$orderBy", "$format"
CULTURE, FALLBACK = "$culture", "$fallback"
# The orders of logs, by whether the newest entry comes first.
TIME_ORDERS = {"time": False, "time asc": False, "time desc": True}
DEFAULT_PAGE_SIZE = 100
# An item of `$expandRelated`: a context, or a context or part with attributes in brackets. Everything else is `rest`.
ITEM = re.compile(r"(?P<place>[^,()]*)(?:\((?P<fields>[^()]*)\)\s*)?(?P<rest>[^,]*)(?P<end>,|$)")
BRACKETS, BRACKETED = re.compile(r"[()]"), "owner(name)"
CONTEXT_KIND = "a related context of this view's types"
# No list has as many pages; larger numbers would overflow in the database.
MAX_PAGE = 10**9


@dataclass(frozen=True, slots=True)
class Paging:
    """A page of a list. `key` is the id of an element: the page that contains it replaces `page`. Size 0 asks for the
    number of elements only."""

    page: int
    size: int
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """Names for `$select` and `$expandRelated`: the properties of the types in a view."""

    properties: frozenset[str]
    contexts: frozenset[str]


@dataclass(slots=True)
class QueryParameters:
    """Reads parameters one by one and collects problems, which `finish` raises."""

    given: QueryDict
    allowed: tuple[str, ...]
    page_names: tuple[str, str] = (PAGE, PAGE_SIZE)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in self.given:
            if name not in self.allowed:
                if problem := self.misspelling(name):
                    self.problems.append(problem)
            elif len(self.given.getlist(name)) > 1:
                self.problems.append(f"{name} is given more than once; send it once.")

    def misspelling(self, name: str) -> str | None:
        """Return what is wrong with an unknown name: its letter case, its missing `$`, or its `$` (D54, D170)."""
        shown, folded = printable(name, 40), name.lower()
        for known in self.allowed:
            if known.lower() == folded:
                return f"{shown}: upper and lower case matter in names; write {known}."
            if known.lower() == f"${folded}":
                return f"{shown}: the $ is missing; write {known}."
        if not name.startswith("$"):
            return None
        dollars = [known for known in self.allowed if known.startswith("$")]
        return f"{shown}: this operation takes {listed(dollars) if dollars else 'no $ parameters'}."

    def text(self, name: str) -> str | None:
        """Return the value of a parameter; an empty value counts as absent."""
        if name not in self.allowed or len(self.given.getlist(name)) > 1:
            return None
        return self.given.get(name) or None

    def required(self, name: str, example: str) -> str:
        """Return the value of a parameter; if it is missing, collect that problem and return an empty text."""
        text = self.text(name)
        if text is None and len(self.given.getlist(name)) < 2:
            self.problems.append(f"{name}: is required, such as {name}={example}.")
        return text or ""

    def boolean(self, name: str, text: str | None) -> bool | None:
        """Return the value of a boolean parameter, None if it is absent."""
        if text is None:
            return None
        if text.lower() not in ("true", "false"):
            self.problems.append(f"{name}: expected true or false, not {printable(text, 40)!r}.")
            return None
        return text.lower() == "true"

    def attempt(self, read: Callable[[], T]) -> T | None:
        """Return the result of `read`, or collect its problems."""
        try:
            return read()
        except Unreadable as problem:
            self.problems.extend(problem.details)
            return None

    def finish(self) -> None:
        if len(self.problems) == 1:
            raise Unreadable(self.problems[0])
        if self.problems:
            raise Unreadable(f"{len(self.problems)} parameters are invalid.", self.problems)

    def resources(self, usual: frozenset[str], known: Sequence[str] = RESOURCES) -> frozenset[str]:
        names = self._names(RESOURCES_NAME)
        return usual if names is None else self._known(RESOURCES_NAME, names, known, "a resource")

    def select(self, names: Names) -> frozenset[str] | None:
        wanted = self._names(SELECT)
        if wanted is None:
            return None
        return self._known(SELECT, wanted, names.properties, "an attribute or related context of this view's types")

    def expand(self, names: Names) -> frozenset[str]:
        wanted = self._names(EXPAND) or []
        return self._known(EXPAND, wanted, names.contexts, CONTEXT_KIND)

    def expand_fields(
        self, names: Names, parts: Iterable[str], attributes: Set[str]
    ) -> tuple[frozenset[str], dict[str, frozenset[str]]]:
        """Return the contexts to expand, and the attributes that references have in addition: `owner(name)` (D574)."""
        plain, fields = list[str](), dict[str, frozenset[str]]()
        for found in _items(self.text(EXPAND)):
            item, place, given = found[0].removesuffix(",").strip(), found["place"].strip(), found["fields"]
            if (given is None or found["rest"]) and BRACKETS.search(item):
                shown = printable(item, 40)
                self.problems.append(f"{EXPAND}: {shown!r} has brackets that do not match; write {BRACKETED}.")
            elif given is None or found["rest"]:
                plain.append(item)
            else:
                self._known(EXPAND, [place], [*names.contexts, *parts], CONTEXT_KIND)
                fields[place] = fields.get(place, frozenset()) | self._fields(place, given, names, attributes)
        return self._known(EXPAND, plain, names.contexts, CONTEXT_KIND), fields

    def _fields(self, place: str, given: str, names: Names, attributes: Set[str]) -> frozenset[str]:
        """Return the attributes in the brackets of a context or part."""
        where = f"{EXPAND}: {printable(place, 40)}"
        if not given.strip():
            self.problems.append(f"{where}: the brackets are empty; write {BRACKETED}.")
            return frozenset()
        wanted = [each.strip() for each in given.split(",")]
        if contexts := [each for each in wanted if each in names.contexts - attributes]:
            text = f"{listed(contexts)}: brackets take attributes, not related contexts."
            self.problems.append(f"{where}: {text}")
        others = [each for each in wanted if each not in contexts]
        return self._known(where, others, attributes, "an attribute of the types of this storage")

    def paging(self, smallest: int = 1) -> Paging | None:
        """Return the requested page, None for the whole list."""
        page_name, size_name = self.page_names
        page, size = self.number(page_name, MAX_PAGE), self.number(size_name, settings.MAX_PAGE_SIZE, smallest)
        key = self.text(PAGE_SELECTION_KEY)
        if key is not None and not GUID.fullmatch(key):
            self.problems.append(f"{PAGE_SELECTION_KEY}: {printable(key, 40)!r} is not a GUID.")
        if page is None and size is None and key is None:
            return None
        if size == 0 and key is not None:
            self.problems.append(f"{PAGE_SELECTION_KEY}: {PAGE_SIZE}=0 returns no page; leave one of them out.")
        usual = min(DEFAULT_PAGE_SIZE, settings.MAX_PAGE_SIZE)
        return Paging(page or 1, usual if size is None else size, key and key.lower())

    def page(self) -> Paging:
        """Return the requested page of a list that is always paged, by default the first."""
        return self.paging() or Paging(1, min(DEFAULT_PAGE_SIZE, settings.MAX_PAGE_SIZE))

    def cultures(self, known: CultureSet) -> tuple[int, ...]:
        """Return the culture of plain values, then its fallbacks (D482); none without `$culture`."""
        falls_back = self.boolean(FALLBACK, self.text(FALLBACK))
        lcid = self.culture(CULTURE, known)
        if lcid is None:
            if falls_back is not None and self.text(CULTURE) is None:
                self.problems.append(f"{FALLBACK}: needs {CULTURE}, such as {CULTURE}={known.default}.")
            return ()
        return fallback_order(lcid, known) if falls_back else (lcid,)

    def culture(self, name: str, known: CultureSet) -> int | None:
        """Return the data culture that a parameter names; None if it is absent or wrong."""
        text = self.text(name)
        if text is None:
            return None
        lcid = int(text) if re.fullmatch(r"[0-9]{1,6}", text) else None
        if lcid in known.data:
            return lcid
        shown = printable(text, 40)
        self.problems.append(f"{name}: the storage has no culture {shown}; it has {listed(sorted(known.data))}.")
        return None

    def table_format(self) -> TableFormat | None:
        """Return the format of a table instead of JSON, None if the request asks for JSON."""
        text = self.text(FORMAT)
        if text is None or text in set(TableFormat):
            return TableFormat(text) if text else None
        self.problems.append(f"{FORMAT}: expected {listed([*TableFormat], 'or')}, not {printable(text, 40)!r}.")
        return None

    def selected(self) -> list[str] | None:
        """Return the names of `$select` in their order."""
        return self._names(SELECT)

    def newest_first(self, *, usual: bool) -> bool:
        """Return whether the newest entry of a log comes first."""
        text = self.text(ORDER_BY)
        if text is None:
            return usual
        found = TIME_ORDERS.get(" ".join(text.split()))
        if found is None:
            self.problems.append(f"{ORDER_BY}: expected {listed([*TIME_ORDERS], 'or')}, not {printable(text, 40)!r}.")
        return bool(found)

    def number(self, name: str, most: int, least: int = 1) -> int | None:
        """Return the value of a parameter from `least` to `most`; None if it is absent or wrong."""
        text = self.text(name)
        if text is None:
            return None
        if re.fullmatch(r"[0-9]{1,10}", text) and least <= int(text) <= most:
            return int(text)
        self.problems.append(f"{name}: expected a whole number from {least} to {most}, not {printable(text, 40)!r}.")
        return None

    def names_among(self, name: str, known: Iterable[str], kind: str) -> tuple[str, ...]:
        """Return the known names, spelt as they are known, that a parameter lists in any letter case."""
        wanted, spelt = self._names(name) or [], {each.casefold(): each for each in known}
        self._known(name, [each for each in wanted if each.casefold() not in spelt], spelt.values(), kind)
        return tuple(spelt[each.casefold()] for each in wanted if each.casefold() in spelt)

    def _names(self, name: str) -> list[str] | None:
        text = self.text(name)
        return None if text is None else [each.strip() for each in text.split(",")]

    def _known(self, name: str, wanted: list[str], known: Iterable[str], kind: str) -> frozenset[str]:
        for each in wanted:
            if each not in known:
                hint = f"; use {listed([*known], 'or')}" if name == RESOURCES_NAME else self._hint(each, known)
                self.problems.append(f"{name}: {printable(each, 40)!r} is not {kind}{hint}.")
        return frozenset(wanted)

    def _hint(self, name: str, known: Iterable[str]) -> str:
        return similar_hint(name, known, len(self.problems))


def _items(text: str | None) -> Iterator[re.Match[str]]:
    start: int | None = None if text is None else 0
    while text is not None and start is not None:
        found = ITEM.match(text, start)
        if found is None:
            return
        yield found
        start = found.end() if found["end"] else None
